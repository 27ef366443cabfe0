/** A file of alert rules that is wrong in any way is refused with a message that names the file and, where it has one, the field. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRuleFile } from '../../../src/api/graphql/mutations/alert-rule-file.ts'
import { schema } from '../../../src/api/graphql/schema.ts'
import { DomainError } from '../../../src/domain/errors.ts'

let folder: string
let path: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-rules-'))
  path = join(folder, 'rules.yaml')
})
afterAll(() => rm(folder, { recursive: true }))

async function outcomeOf(text: string): Promise<number | string> {
  await writeFile(path, text)
  try {
    return (await readRuleFile(path, schema)).length
  } catch (error) {
    // Any other error would end the server with a stack trace.
    if (!(error instanceof DomainError)) throw error
    expect(error.message).toContain(`ALERT_RULES ${path}: `)
    expect(error.message.length).toBeLessThan(100_000)
    return error.message.replace(`ALERT_RULES ${path}: `, '')
  }
}

const rule = (more = '') => `rules:\n  - name: a\n    metric: FAILED\n    threshold: 1\n${more}`
const nested = (times: number, open: string, close: string) => `${open.repeat(times)}x${close.repeat(times)}`
const letters = [...'abcdefghi']
/** Each line has ten aliases of the line before it. */
const bomb = letters
  .map((name, n) => `${name}: &${name} [${Array(10).fill(n ? `*${letters[n - 1]}` : 'x')}]`)
  .join('\n')

describe('a file of alert rules', () => {
  it.each<[name: string, text: string, said: RegExp | number]>([
    ['one rule', rule(), 1],
    ['an alias', `shared: &s {deploymentIds: [x]}\n${rule('    selector: *s\n')}`, 1],
    [
      'a selector that contains itself',
      rule('    selector:\n      where: &w {not: *w}\n'),
      /^rules\[0\] contains itself/,
    ],
    [
      'a selector with itself twice',
      rule('    selector:\n      where: &w {and: [*w, *w]}\n'),
      /^rules\[0\] contains itself/,
    ],
    ['a list of itself', 'rules: &a [*a]', /^rules\[0\] contains itself/],
    ['aliases of aliases', `${bomb}\nrules: *i\n`, /resource exhaustion/],
    [
      'a deep selector',
      rule(`    selector: {where: ${nested(400, '{not: ', '}').replace('x', '{}')}}\n`),
      /^rules\[0\] is not valid: .*deep/,
    ],
    ['lists without end', nested(50_000, '[', ']'), /^is not YAML/],
    ['objects without end', `rules: ${nested(20_000, '{a: ', '}')}`, /^is not YAML/],
    ['a huge threshold', rule().replace('1\n', '1e999\n'), /^rules\[0\]\.threshold/],
    ['a threshold of very many digits', rule().replace('1\n', `${'9'.repeat(100_000)}\n`), /^rules\[0\]\.threshold/],
    ['no number', rule().replace('1\n', '.nan\n'), /^rules\[0\]\.threshold/],
    ['a prototype', rule('    __proto__: {threshold: 2}\n'), /^rules\[0\] .*"__proto__"/],
    ['a constructor', rule('    constructor: x\n'), /^rules\[0\] .*"constructor"/],
    ['rules in the prototype', '__proto__: {rules: []}\n', /list `rules`/],
    ['two documents', '---\nrules: []\n---\nrules: []\n', /multiple documents/],
    ['a field twice', rule('    name: b\n'), /must be unique/],
    ['half a surrogate pair', rule().replace(': a', ': "a\\uD800"'), /^rules\[0\]\.name/],
    ['another type', 'rules: [null, 1, x, [], !!binary "AAAA"]\n', /^rules\[0\] .*rules\[4\]/],
    ['an alias of nothing', 'rules: *x\n', /Unresolved alias/],
    ['very many mistakes', `rules:\n${'  - {nam: x}\n'.repeat(5_000)}`, /; and \d+ more$/],
    ['nothing', '', /list `rules`/],
  ])('with %s', async (_, text, said) => {
    const outcome = await outcomeOf(text)
    if (typeof said === 'number') expect(outcome).toBe(said)
    else expect(outcome).toMatch(said)
  })

  it.each<[name: string, make: (path: string) => unknown, said: string]>([
    ['a device without end', () => '/dev/zero', 'is not a regular file'],
    ['a pipe without a writer', (path) => spawnSync('mkfifo', [path]), 'is not a regular file'],
    ['a folder', () => folder, 'is not a regular file'],
    ['no file', () => join(folder, 'missing'), 'cannot be read (ENOENT)'],
    [
      'a file of 8 GB',
      async (path) => {
        await writeFile(path, '')
        await truncate(path, 8e9)
      },
      `has 8000000000 bytes, and may have ${4 << 20}`,
    ],
  ])('is refused if it is %s', async (name, make, said) => {
    const own = join(folder, name)
    const made = await make(own)
    const named = typeof made === 'string' ? made : own
    await expect(readRuleFile(named, schema)).rejects.toThrow(`ALERT_RULES ${named}: ${said}`)
  })

  it('that was changed anywhere is read or refused', async () => {
    const base = `shared: &s {deploymentIds: [x]}\n${rule('    unit: COUNT\n    selector: *s\n    labels: [{key: k, value: v}]\n')}`
    const piece = fc.constantFrom(
      '&a ',
      '*a',
      '*s',
      '[',
      ']',
      '{',
      '}',
      ': ',
      '- ',
      '!!set ',
      '<<: *s',
      '"',
      '\n',
      '\t',
      '? ',
      '| ',
      '1e999',
      '.inf',
      '__proto__: ',
      '%',
      '\0',
      '---\n',
    )
    const change = fc.record({ at: fc.nat(base.length), cut: fc.nat(20), put: piece })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const text = changes.reduce((now, { at, cut, put }) => now.slice(0, at) + put + now.slice(at + cut), base)
        await outcomeOf(text)
      }),
      { numRuns: 200 },
    )
  })
})
