/**
 * The answer of a tool: facts by a schema, and the same in a few lines. Both together have a budget. What does not fit is left out of the longest list, and
 * `omitted` says how much and how to get it.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { mark, quote } from './untrusted.ts'

export const envelope = {
  revision: z.string().describe('The revision that the answer reflects.'),
  time: z.string().describe('The moment of the answer.'),
  page: z.string().describe('The page that shows the same to a person.'),
  omitted: z
    .array(z.object({ what: z.string(), count: z.number().int(), how: z.string() }))
    .describe('What was left out, and how to get it.'),
}

type Row = unknown

export type Facts = Readonly<Record<string, unknown>>

export interface Found {
  readonly revision: string
  readonly time: string
  /** Path and query of the page, relative to its root. */
  readonly page: string
  readonly facts: Facts
  /** Of each list of the facts: how many rows exist, and how to get the others. */
  readonly lists?: Readonly<Record<string, { readonly total: number; readonly how: string }>>
  /** The short text. It is made of the facts that fit. */
  readonly lines: (facts: Facts) => readonly string[]
}

/** The rows of a list, by default and at most. */
export const [usualRows, mostRows] = [5, 50]

export const limit = z
  .number()
  .int()
  .min(1)
  .max(mostRows)
  .default(usualRows)
  .describe('The most rows of each list. More rows make a longer answer.')

/** Bytes of facts and text with the usual number of rows. Three bytes are a token or less, so these are at most 2,000 tokens. */
export const usualBytes = 6_000

export function answerOf(found: Found, root: string, rows: number): CallToolResult {
  const budget = usualBytes * Math.max(1, rows / usualRows)
  const lists = Object.entries(found.facts).flatMap(([name, value]) =>
    Array.isArray(value) ? [listOf(name, value)] : [],
  )
  for (;;) {
    const result = render(found, { ...found.facts, ...Object.fromEntries(lists.map(keptOf)) }, root)
    let excess = bytesOf(result) - budget
    if (excess <= 0) return result
    while (excess > 0) {
      const longest = lists.reduce<List | null>((most, list) => (list.bytes > (most?.bytes ?? 0) ? list : most), null)
      if (longest === null) return result
      const size = longest.sizes.pop() ?? 0
      longest.bytes -= size
      // It is in the facts and in the text. To make the answer anew for each row would take a second for what a hostile device can fill.
      excess -= 2 * size
    }
  }
}

interface List {
  readonly name: string
  readonly rows: readonly Row[]
  /** Of the rows that are kept. */
  readonly sizes: number[]
  bytes: number
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

function listOf(name: string, rows: readonly Row[]): List {
  const sizes = rows.map(bytesOf)
  return { name, rows, sizes, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

const keptOf = ({ name, rows, sizes }: List) => [name, rows.slice(0, sizes.length)] as const

function render({ revision, time, page, lists = {}, lines, facts }: Found, kept: Facts, root: string): CallToolResult {
  const omitted = Object.entries(facts).flatMap(([what, all]) => {
    if (!Array.isArray(all)) return []
    const { total, how } = lists[what] ?? { total: all.length, how: 'ask with a larger limit' }
    const count = Math.max(total, all.length) - (kept[what] as readonly Row[]).length
    return count > 0 ? [{ what, count, how }] : []
  })
  const link = `${root}/${page}`
  const text = [
    ...lines(kept),
    ...omitted.map(({ what, count, how }) => `Left out: ${count} more of ${what}; ${how}.`),
    `As of revision ${revision}, ${time}. Page: ${link}`,
  ].join('\n')
  const structuredContent = { revision, time, page: link, omitted, ...kept }
  return { content: [{ type: 'text', text }], structuredContent }
}

/** An error of the API, which may name what devices chose. */
export function failureOf(error: unknown): CallToolResult | null {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
  if (code === null) return null
  const text = `${code}: ${quote(mark((error as Error).message, 500))}`
  return { content: [{ type: 'text', text }], isError: true }
}

/** Of an object. A link is outside of the marks, so it has the server's ID: a name could hold words for the assistant, and is long when it is encoded. */
export const pageOf = (id: string): string => `node/${id}`

export const atTime = (page: string, time: string | null): string =>
  time === null ? page : `${page}?at=${encodeURIComponent(time)}`
