import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Millis, Revision } from '../../../../src/domain/values.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../../src/store/database.ts'
import { step } from '../../../../src/store/projection.ts'
import { newestEntry } from '../../../../src/store/read/changes/newest-entry.ts'
import { resolvePast } from '../../../../src/store/read/past.ts'
import { timeParameter } from '../../../../src/store/sql/parameters.ts'
import { summariesProjection } from '../../../../src/store/write/derived/change-summaries.ts'
import { openFresh } from '../../../support/databases/databases.ts'
import { type Store, stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { inSnapshot } from '../history.ts'
import { buffersOf } from '../long-log.ts'

interface Entry {
  readonly first: Revision
  readonly last: Revision
  readonly at: Millis
}

const noon = Date.UTC(2026, 0, 1, 12)

/** Steps from one entry to the next: revisions of the entry, revisions that are missing before it, and milliseconds. */
const steps = fc.array(
  fc.record({
    span: fc.integer({ min: 1, max: 3 }),
    gap: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(200) }),
    wait: fc.oneof(fc.constant(0), fc.nat(5), fc.nat(100_000)),
  }),
  { maxLength: 300, size: 'max' },
)
const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 60 })

describe.each(stores)('the newest entry up to a time on $name', (store) => {
  it('is the last one that is not later, whatever is summarised', async () => {
    const { database, base } = await open(store)
    await fc.assert(
      fc.asyncProperty(steps, sizes, fc.nat(1000), async (between, blocks, divided) => {
        const entries = entriesAfter(base, between)
        const { session } = database
        await fill(session, entries)
        for (const size of blocks) await step(database, summariesProjection, size)
        const end = entries.at(-1)?.last ?? base
        // An epoch ends where an entry does.
        const border = entries[Math.floor((entries.length * divided) / 1000)]?.first ?? base + 1
        for (const [low, high] of [
          [base, end],
          [base, border - 1],
          [border - 1, end],
        ] as const) {
          const within = entries.filter(({ first, last }) => first > low && last <= high)
          const around = within.flatMap(({ at }) => [at - 1, at, at + 1])
          for (const time of [...around.slice(0, 2), ...fc.sample(fc.constantFrom(noon - 1, ...around), 8)]) {
            const before = within.findLast(({ at }) => at < time)?.last ?? null
            const upTo = within.findLast(({ at }) => at <= time)?.last ?? null
            expect([await find(session, low, high, '<', time), await find(session, low, high, '<=', time)]).toEqual([
              before,
              upTo,
            ])
          }
        }
      }),
      { numRuns: someOf(15, 40) },
    )
  })

  it('is never before the tail of the log, whose summaries are removed later', async () => {
    const { database, base } = await open(store)
    const { session } = database
    const entries = entriesAfter(
      base,
      Array.from({ length: 40 }, () => ({ span: 1, gap: 0, wait: 1_000 })),
    )
    await fill(session, entries)
    while (await step(database, summariesProjection, 10));
    const [tail, next, last] = [entries[14], entries[15], entries.at(-1)]
    if (!tail || !next || !last) return expect.unreachable()
    await session.run('delete from change_log where last_revision <= $1', [tail.last])
    await session.run('update epochs set began_at = $1::timestamptz', [new Date(noon).toISOString()])
    await session.run('update log_head set tail = $1, tail_at = $2::timestamptz, revision = $3, at = $4::timestamptz', [
      tail.last,
      new Date(tail.at).toISOString(),
      last.last,
      new Date(last.at).toISOString(),
    ])
    await inSnapshot(database, async (snapshot) => {
      const at = (asOf: Millis) => resolvePast(snapshot, { asOf, atRevision: null })
      expect([await at(tail.at), await at(next.at - 1), await at(next.at)]).toEqual([tail.last, tail.last, next.last])
    })
  })

  it('is found between two summaries by a few look-ups', async () => {
    const { database, base } = await open(store)
    const entries = entriesAfter(
      base,
      Array.from({ length: 20_000 }, (_, n) => ({ span: 1, gap: 0, wait: n % 100 === 0 ? 60_000 : 1 })),
    )
    const { session } = database
    await fill(session, entries)
    while (await step(database, summariesProjection, 100));
    const end = base + entries.length
    const searched = (at: Millis) => buffersOf(database, (s) => find(s, base, end, '<=', at))
    const measure = async (): Promise<number> => {
      let most = 0
      for (let n = 50; n < entries.length; n += 1_997) {
        const { first, at } = entries[n] ?? { first: 0, at: 0 }
        const { answer, buffers } = await searched(at)
        expect(answer).toBe(first)
        most = Math.max(most, buffers)
      }
      return most
    }
    const summarized = await measure()
    await session.run('delete from change_summaries')
    expect(await measure()).toBeGreaterThan(1.8 * summarized)
  })
})

async function open(store: Store): Promise<{ readonly database: Database; readonly base: Revision }> {
  const database = await openFresh(store)
  return { database, base: (await readHead(database.session)).revision }
}

function entriesAfter(
  base: Revision,
  between: readonly { readonly span: number; readonly gap: number; readonly wait: number }[],
): Entry[] {
  let [revision, at] = [base, noon]
  return between.map(({ span, gap, wait }) => {
    const first = revision + gap + 1
    revision += gap + span
    at += wait
    return { first, last: revision, at }
  })
}

/** The log has these entries only, and no summaries. */
async function fill(session: Session, entries: readonly Entry[]): Promise<void> {
  await session.run('delete from change_log')
  await session.run('delete from change_summaries')
  await session.run(
    `insert into duties (name, cursor) values ('summaries', $1) on conflict (name) do update set cursor = $1`,
    [(entries[0]?.first ?? 1) - 1],
  )
  await session.run(
    `insert into change_log (found_by_changed, first_revision, last_revision, at, changes)
     select true, (e->>0)::bigint, (e->>1)::bigint, timestamptz 'epoch' + (e->>2)::bigint * interval '1 ms', '[]' from json_array_elements($1::text::json) e`,
    [JSON.stringify(entries.map(({ first, last, at }) => [first, last, at]))],
  )
  await session.run('update log_head set revision = greatest(revision, $1)', [entries.at(-1)?.last ?? 0])
}

async function find(
  session: Session,
  base: Revision,
  ended: Revision,
  order: '<' | '<=',
  time: Millis,
): Promise<Revision | null> {
  const [row] = await session.rows<{ revision: Revision | null }>(
    sql`select found.revision from ${newestEntry(sql`${base}::bigint`, sql`${ended}::bigint`, order, timeParameter(time))}`,
  )
  return row?.revision ?? null
}
