/** What leaves the server without a caller, at a broker or a collector: the paths of the values in a payload, and the table of what they show. */
import { readFileSync } from 'node:fs'
import type { CollectedSpan } from '../support/systems/collector.ts'

/** Of each payload, the path of each value and the GraphQL field that shows the same, or `none: ` and the reason why no field has to. */
type PublishedTable = Readonly<Record<string, Readonly<Record<string, string>>>>

export const publishedTable: PublishedTable = JSON.parse(
  readFileSync(new URL('published-table.json', import.meta.url), 'utf8'),
)

/** `error.code`, `components[].name`. A null is a value. */
export function pathsOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => pathsOf(each, `${at}[]`))
  if (typeof value !== 'object' || value === null) return [at]
  return Object.entries(value).flatMap(([name, each]) => pathsOf(each, at === '' ? name : `${at}.${name}`))
}

/** The paths of all of them. */
export const distinct = (values: readonly unknown[]): string[] =>
  [...new Set(values.flatMap((value) => pathsOf(value)))].toSorted()

/** Those that the table has. */
export const rowsOf = (payload: string): string[] => Object.keys(publishedTable[payload] ?? {}).toSorted()

export const parent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`

/** The payload in the table that a span is, by its name. */
export function payloadOf({ name }: CollectedSpan): string {
  if (name === 'write batch') return 'span of a batch'
  const [, kind] = /^(rollout|install|remove|component) /.exec(name) ?? []
  if (kind === undefined) return 'span of a request'
  return kind === 'rollout' || kind === 'component' ? `span of a ${kind}` : 'span of an attempt'
}

/** What spans have that is in no row of the table, as `payload: path`. */
export function unlisted(spans: readonly CollectedSpan[]): string[] {
  const found = spans.flatMap((span) => pathsOf(span).map((path) => [payloadOf(span), path] as const))
  const wrong = found.filter(([payload, path]) => publishedTable[payload]?.[path] === undefined)
  return [...new Set(wrong.map(([payload, path]) => `${payload}: ${path}`))]
}
