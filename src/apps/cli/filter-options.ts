/** The options that are conditions of deployments. The declaration of the filter has them (domain/nouns/deployment.ts). */
import { deploymentFilter } from '../../domain/nouns/deployment.ts'
import type { FilterField, FilterFields, FilterOption } from '../../domain/nouns/filter.ts'
import { UsageError } from '../../server/process/arguments.ts'

interface Declared extends FilterOption, Pick<FilterField, 'kind'> {
  /** The field of the filter. */
  readonly field: string
  readonly among: readonly string[]
}

const fields: FilterFields = { ...deploymentFilter.conditions, ...deploymentFilter.own }
const declared: readonly Declared[] = Object.entries(fields).flatMap(([field, { kind, option, among = [] }]) =>
  option ? [{ ...option, field, kind, among }] : [],
)

export const filterOptionNames = declared.map(({ name }) => name)

/** For parseArgs. */
export const filterOptions: Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly multiple: boolean }>
> = Object.fromEntries(
  declared.map(({ name, kind }) => [
    name,
    { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), multiple: isRepeated(kind) },
  ]),
)

/** What may follow an option, in lower case. */
export const filterValues: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  declared
    .filter(({ among }) => among.length > 0)
    .map(({ name, among }) => [name, among.map((one) => one.toLowerCase())]),
)

/** The lines of the help. */
export const filterUsage = [
  ...rowsOfThree(declared.filter(({ explained }) => !explained).map(shown)),
  ...explanations(),
]
  .map((line) => `  ${line}`)
  .join('\n')

/** The fields of the filter that the options give. Throws a UsageError. */
export function filterFieldsOf(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const given = declared.filter(({ name }) => values[name] !== undefined)
  return Object.fromEntries(
    given.map(({ name, field, kind, among }) => [
      field,
      kind === 'values' ? (values[name] as string[]).map((text) => wordOf(`--${name}`, text, among)) : values[name],
    ]),
  )
}

/** Whether an option names deployments. States and flags only narrow a choice. */
export function isChoice(values: Readonly<Record<string, unknown>>): boolean {
  return declared.some(({ kind, field }) => (kind === 'texts' || kind === 'text') && values[field] !== undefined)
}

/** In any letter case. Throws a UsageError. */
export function wordOf<Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const word = words.find((known) => known === text.toUpperCase())
  if (word) return word
  throw new UsageError(`${name} must be one of ${words.join(', ').toLowerCase()}, but is ${JSON.stringify(text)}`)
}

function isRepeated(kind: FilterField['kind']): boolean {
  return kind === 'texts' || kind === 'values'
}

function shown({ name, value, kind }: Declared): string {
  return `--${name}${value ? ` ${value}` : ''}${isRepeated(kind) ? ' *' : ''}`
}

function rowsOfThree(cells: readonly string[]): string[] {
  const starts = [...cells.keys()].filter((at) => at % 3 === 0)
  return starts.map((at) => {
    const [first = '', second = '', third = ''] = cells.slice(at, at + 3)
    return `${first.padEnd(31)}${second.padEnd(26)}${third}`.trimEnd()
  })
}

function explanations(): string[] {
  return declared.flatMap((one) => (one.explained ? [`${shown(one).padEnd(31)}${one.explained}`] : []))
}
