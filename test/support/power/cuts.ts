/** What the tests of power cuts have in common: which cuts, what must be there afterwards, and whether anything is missing in a record. */
import { hash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import type { Played } from '../clients/fleet.ts'
import { expectKept, expectSound } from '../databases/soundness.ts'
import { seed } from '../runner/depth.ts'
import type { Left, Step } from './cut.ts'
import type { Result } from './play.ts'

export interface Cut {
  readonly number: number
  /** Of the record. */
  readonly length: number
  readonly left: Left
}

/** Moments in each phase of a play, from first to last. */
export function* cutsIn(
  { phases }: Result,
  steps: readonly Step[],
  count: number,
  random: () => number,
): Generator<Cut> {
  const begins = Object.values(phases)
  // PostgreSQL may write nothing in a phase.
  const all = begins
    .map((from, index) =>
      steps.filter(({ end }) => end > from && end <= (begins[index + 1] ?? Number.POSITIVE_INFINITY)),
    )
    .filter((each) => each.length > 0)
  for (let number = 0; number < count; number += 1) {
    const { end: length } = pick(pick(all, number / count), random())
    yield { number, length, left: pick(['some', 'some', 'nothing', 'everything'] as const, random()) }
  }
}

/** Mulberry32. `start`: absent, the seed of the run. */
export function randomOf(start = seed): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** The steps of a record of which that much had been written. */
export function stepsUntil(steps: readonly Step[], length: number): readonly Step[] {
  const end = steps.findIndex((step) => step.end > length)
  return end < 0 ? steps : steps.slice(0, end)
}

/** Hashes of all files, by path. */
export function contentsOf(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.endsWith('rollcall.lock') && statSync(join(folder, path)).isFile(),
  )
  return new Map(paths.toSorted().map((path) => [path, hash('sha256', readFileSync(join(folder, path)))]))
}

/** What is kept of the reports: all that were answered when the record was so long, and perhaps one more of a device. */
export async function expectAcknowledged(database: Database, { played }: Result, length: number): Promise<void> {
  try {
    const rows = await database.session.run<{ reporter: string; count: number }>(
      `select d.reporter, count(*)::int as count from deployments d join reports r on r.deployment_key = d.key
       where r.verdict = 'APPLIED' group by 1`,
    )
    const counts = new Map(rows.map(({ reporter, count }) => [reporter, count]))
    const expected: Played[] = []
    for (const { reporter, outcomes, marks } of played) {
      const answered = marks.filter((mark) => mark <= length).length
      const kept = counts.get(reporter) ?? 0
      expect(kept, reporter).toBeGreaterThanOrEqual(answered)
      expect(kept, reporter).toBeLessThanOrEqual(answered + 1)
      if (kept > 0) expected.push({ reporter, outcomes: outcomes.slice(0, kept) })
    }
    await expectKept(database, expected)
    await expectSound(database)
  } finally {
    await database.close()
  }
}

/** `share`: below 1. */
function pick<T>(list: readonly T[], share: number): T {
  return list[Math.floor(share * list.length)] ?? expect.unreachable()
}
