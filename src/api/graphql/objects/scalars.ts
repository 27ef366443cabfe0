/** Scalars. Times are ISO 8601 and revisions are digits for clients; both are numbers internally. */
import { GraphQLError, Kind, print, type ValueNode, valueFromASTUntyped } from 'graphql'
import { type Millis, oldestRetained, type Revision } from '../../../domain/values.ts'
import { builder } from '../builder.ts'

builder.scalarType('DateTime', {
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
  description:
    "A time in ISO 8601 with a UTC offset, such as `2026-01-02T03:04:05.678Z`. Output is in UTC with milliseconds, by the server's clock unless the field's description names another clock.",
  serialize: (millis) => new Date(millis).toISOString(),
  parseValue: (value) => parseDateTime(value),
  parseLiteral: (node) => parseDateTime(literalText(node, [Kind.STRING]), node),
})

builder.scalarType('Revision', {
  description:
    'The number of a change in the log, as decimal digits. A greater number is newer. As an argument, `begin` is the oldest retained revision.',
  serialize: (revision) => String(revision),
  parseValue: (value) => parseRevision(value),
  parseLiteral: (node) => parseRevision(literalText(node, [Kind.STRING, Kind.INT]), node),
})

builder.scalarType('JSON', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
})

const dateTime = /^(\d{4}-\d{2}-\d{2})T(\d{2}):\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/i

/** Truncates fractions finer than milliseconds. Throws a GraphQLError. `node`: the place in the document. */
export function parseDateTime(value: unknown, node?: ValueNode): Millis {
  const [, date = '', hour = ''] = (typeof value === 'string' && dateTime.exec(value)) || []
  const millis = date === '' ? Number.NaN : Date.parse(String(value).toUpperCase())
  // Date.parse turns February 30 into March 2 and accepts 24:00.
  if (Number.isNaN(millis) || hour === '24' || !isCalendarDate(date))
    throw invalid('DateTime must be ISO 8601 with an offset, such as "2026-01-02T03:04:05.678Z"', value, node)
  return millis
}

/** A number above the safe integers is clamped: it is newer than every revision, so it is not an error. */
export function parseRevision(value: unknown, node?: ValueNode): Revision {
  if (value === 'begin') return oldestRetained
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || !/^\d{1,100}$/.test(text))
    throw invalid('Revision must be decimal digits, such as "1234", or "begin"', value, node)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

function isCalendarDate(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date)
}

/** Undefined for a literal of another kind. */
const literalText = (node: ValueNode, kinds: readonly Kind[]): unknown =>
  kinds.includes(node.kind) && 'value' in node ? node.value : undefined

/** Validation adds no location to a GraphQLError: without the node, a document with several values does not show which is wrong. */
function invalid(message: string, value: unknown, node: ValueNode | undefined): GraphQLError {
  const text = node ? print(node) : typeof value === 'string' ? JSON.stringify(value) : String(value)
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return new GraphQLError(`${message}; got ${shown}`, { nodes: node, extensions: { code: 'BAD_USER_INPUT' } })
}
