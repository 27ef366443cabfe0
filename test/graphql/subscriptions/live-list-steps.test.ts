/** The steps of a live list, over a list in memory. live-list.test.ts has the same over a database. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { difference } from '../../../src/api/graphql/subscriptions/lists/difference.ts'
import {
  type ListReads,
  type ListState,
  type ListUpdate,
  reactToList,
} from '../../../src/api/graphql/subscriptions/lists/live-list.ts'

interface Row {
  readonly key: number
  readonly revision: number
  readonly rank: number
}

/** `null`: the row is not listed. */
const changes = fc.array(fc.record({ deploymentKey: fc.nat({ max: 15 }), rank: fc.option(fc.nat({ max: 40 })) }), {
  minLength: 1,
  maxLength: 4,
})

describe('a live list', () => {
  it('is the first rows after each commit, reads behind its end only if a row left, and sends only what changed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.record({ changes, isComplete: fc.integer({ min: 0, max: 5 }).map((n) => n > 0) }), {
          maxLength: 30,
        }),
        async (first, commits) => {
          const table = createTable()
          const react = reactToList(table.reads, first, null)
          let memory: ListState | null = null
          let rows: readonly Row[] = []
          let hasNextPage = false
          for (const [cursor, { changes, isComplete }] of commits.entries()) {
            const before = rows
            const former = new Map(before.map((row) => [row.key, row]))
            if (cursor > 0) for (const { deploymentKey, rank } of changes) table.put(deploymentKey, rank)
            const event = { cursor, coalesced: 0, changes, isComplete, snapshot: {}, release() {} }
            const reaction = await react({} as never, event as never, { memory, sentUpTo: 0 })
            if ('follow' in reaction) return expect.unreachable()
            memory = reaction.memory ?? memory
            if ('send' in reaction) {
              const update: ListUpdate<Row> = reaction.send
              const touched = new Set(changes.map(({ deploymentKey }) => deploymentKey))
              for (const { change, row } of update.rows)
                expect(change === 'INSERTED' ? !former.has(row.key) : !isComplete || touched.has(row.key)).toBe(true)
              rows = apply(rows, update)
              hasNextPage = update.hasNextPage
            }
            const all = table.sorted()
            expect(rows).toEqual(all.slice(0, first))
            expect(hasNextPage).toBe(all.length > first)
            const left = before.filter(
              ({ key, revision }) => !rows.some((r) => r.key === key && r.revision === revision),
            )
            if (cursor > 0 && isComplete && left.length === 0 && before.length === first)
              expect(table.pages()).toBeLessThan(2)
            table.pages()
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('says of a changed row that it moved only if it passed another', () => {
    const listed = (keys: string) => [...keys].map((key) => ({ key: key.charCodeAt(0), revision: 1 }))
    const namesOf = (before: string, after: string, touched: string): string[] => {
      const { rows, removed } = difference(listed(before), listed(after), (key) =>
        touched.includes(String.fromCharCode(key)),
      )
      const name = (key: number): string => String.fromCharCode(key)
      return [
        ...rows.map(({ change, key, position }) => `${change} ${name(key)} ${position}`),
        ...removed.map((key) => `removed ${name(key)}`),
      ]
    }
    expect(namesOf('abc', 'abc', '')).toEqual([])
    expect(namesOf('abc', 'abc', 'b')).toEqual(['UPDATED b 1'])
    expect(namesOf('abcd', 'cabd', 'c')).toEqual(['MOVED c 0'])
    expect(namesOf('abcd', 'bcda', 'a')).toEqual(['MOVED a 3'])
    expect(namesOf('abc', 'xab', 'x')).toEqual(['INSERTED x 0', 'removed c'])
    expect(namesOf('abcd', 'badc', 'abcd')).toEqual(['UPDATED b 0', 'MOVED a 1', 'UPDATED d 2', 'MOVED c 3'])
  })
})

function apply(list: readonly Row[], { isSnapshot, removed, rows }: ListUpdate<Row>): Row[] {
  const gone = new Set([...removed, ...rows.map(({ key }) => key)])
  const next = isSnapshot ? [] : list.filter(({ key }) => !gone.has(key))
  for (const { position, row } of rows) next.splice(position, 0, row)
  return next
}

function createTable() {
  const table = new Map<number, Row>()
  let revision = 0
  let pages = 0
  const order = (a: Row, b: Row): number => a.rank - b.rank || a.key - b.key
  const sorted = (): Row[] => [...table.values()].sort(order)
  const cursorOf = ({ key, rank }: Row): string => JSON.stringify([rank, key])
  const isBehind = (row: Row, cursor: string): boolean => {
    const [rank = 0, key = 0] = JSON.parse(cursor) as number[]
    return row.rank - rank > 0 || (row.rank === rank && row.key > key)
  }
  const reads: ListReads<Row, ReadonlySet<number>> = {
    page: async (_, { size, after }) => {
      pages += 1
      const rows = sorted().filter((row) => after === null || isBehind(row, after))
      const edges = rows.slice(0, size).map((node) => ({ node, cursor: cursorOf(node) }))
      return { edges, hasNextPage: rows.length > size, hasPreviousPage: false }
    },
    touched: (changes) => new Set(changes.map(({ deploymentKey }) => deploymentKey ?? 0)),
    places: async (_, touched, known, upTo, limit) =>
      sorted()
        .filter((row) => (touched.has(row.key) || known.includes(row.key)) && (upTo === null || !isBehind(row, upTo)))
        .slice(0, limit)
        .map((row) => ({ ...row, cursor: cursorOf(row) })),
    isTouched: (touched, key) => touched.has(key),
    row: async (_, key) => table.get(key),
    changedSince: async () => new Set(),
    hasPast: () => true,
  }
  return {
    reads,
    sorted,
    put(key: number, rank: number | null) {
      revision += 1
      if (rank === null) table.delete(key)
      else table.set(key, { key, rank, revision })
    },
    /** Number of pages that were read since the last call. */
    pages() {
      const count = pages
      pages = 0
      return count
    },
  }
}
