/**
 * The file of alert rules (ALERT_RULES): YAML with a list `rules`, each with the fields of SaveAlertRuleInput. So a rule in the file has the
 * same names, defaults and checks as one that is saved by mutation.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { coerceInputValue, type GraphQLSchema, isInputType, validateInputValue } from 'graphql'
import { parse } from 'yaml'
import { DomainError } from '../../../domain/errors.ts'
import type { GivenRule } from '../../../ingest/commands/alert-rules.ts'
import { checkRule, type RuleInput, toGivenRule } from './alert-rule-input.ts'
import { checkInput } from './input-check.ts'

/** Bytes: far more than the rules of a large fleet. */
const largestFile = 4 << 20

/** Problems in one message. */
const mostProblems = 100

/** Throws a message for the operator at startup, with every problem and the field that has it. */
export async function readRuleFile(path: string, schema: GraphQLSchema): Promise<readonly GivenRule[]> {
  const invalid = (problems: readonly string[]): DomainError =>
    new DomainError('INVALID_REQUEST', `ALERT_RULES ${path}: ${problems.join('; ')}`)
  const text = await textOf(path).catch((error: NodeJS.ErrnoException) => {
    throw invalid([error.code ? `cannot be read (${error.code})` : error.message])
  })
  const list = listIn(text)
  if (typeof list === 'string') throw invalid([list])
  const problems: string[] = []
  const names = new Set<string>()
  const rules = list.flatMap((value, index) => {
    const add = (field: readonly (string | number)[], message: string): void =>
      void problems.push(`${pathOf(['rules', index, ...field])} ${message}`)
    const problem = value === null ? 'must not be empty' : containsItself(value) ? 'contains itself by an alias' : null
    if (problem !== null) {
      add([], problem)
      return []
    }
    const input = toRuleInput(value, schema, add)
    if (input === null) return []
    const check = checkInput()
    checkRule(input, check)
    if (names.has(input.name)) check.add(['name'], 'is a duplicate')
    names.add(input.name)
    for (const { path: field, message } of check.problems) add(field, message)
    try {
      return [toGivenRule(input)]
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      add([], `is not valid: ${error.message}`)
      return []
    }
  })
  if (problems.length > mostProblems)
    problems.splice(mostProblems, problems.length, `and ${problems.length - mostProblems} more`)
  if (problems.length > 0) throw invalid(problems)
  return rules
}

/** Only of a regular file: a device may have no end, and a pipe no writer. A pipe is opened without waiting for one. */
async function textOf(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const status = await file.stat()
    if (!status.isFile()) throw new Error('is not a regular file')
    if (status.size > largestFile) throw new Error(`has ${status.size} bytes, and may have ${largestFile}`)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(status.size))
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

function listIn(text: string): readonly unknown[] | string {
  try {
    const { rules } = (parse(text, { logLevel: 'error' }) ?? {}) as { readonly rules?: unknown }
    return Array.isArray(rules) ? rules : 'must be YAML with a list `rules`'
  } catch (error) {
    return `is not YAML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''}`
  }
}

/** An alias may name what contains it. Validation would follow it until the stack is full. `above`: the values around this one. */
function containsItself(value: unknown, above = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || done.has(value)) return false
  if (above.has(value)) return true
  above.add(value)
  const found = Object.values(value).some((part) => containsItself(part, above, done))
  above.delete(value)
  done.add(value)
  return found
}

function toRuleInput(
  value: unknown,
  schema: GraphQLSchema,
  add: (field: readonly (string | number)[], message: string) => void,
): RuleInput | null {
  const type = schema.getType('SaveAlertRuleInput')
  if (!isInputType(type)) throw new Error('the schema has no SaveAlertRuleInput')
  let isValid = true
  validateInputValue(value, type, (error, path) => {
    isValid = false
    add(path, `is not valid: ${error.message}`)
  })
  return isValid ? (coerceInputValue(value, type) as RuleInput) : null
}

function pathOf(path: readonly (string | number)[]): string {
  return path
    .map((step, index) => (/^\d+$/.test(String(step)) ? `[${step}]` : `${index > 0 ? '.' : ''}${step}`))
    .join('')
}
