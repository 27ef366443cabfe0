/** The power goes at a random moment: every acknowledged report is kept, once, and the embedded database opens again by itself. */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/store/open.ts'
import type { Played } from '../../support/clients/fleet.ts'
import { expectKept, expectSound } from '../../support/databases/soundness.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { cutPower, type Step } from '../../support/power/cut.ts'
import type { Result } from '../../support/power/play.ts'
import { type Recording, record } from '../../support/power/recording.ts'
import { isWhole, runs, seed, someOf } from '../../support/runner/depth.ts'

const reports = runs(300, 2_000)

/** Mulberry32. */
function randomOf(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** The steps of a record of which that much had been written. */
function stepsUntil(steps: readonly Step[], length: number): readonly Step[] {
  const end = steps.findIndex((step) => step.end > length)
  return end < 0 ? steps : steps.slice(0, end)
}

/** Contents of all files, by path. */
function contentsOf(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.endsWith('rollcall.lock'),
  )
  return new Map(
    paths
      .toSorted()
      .map((path) => [path, statSync(join(folder, path)).isFile() ? readFileSync(join(folder, path), 'latin1') : '']),
  )
}

/** What is kept of the reports: all that were answered when the record was so long, and perhaps one more of a device. */
async function expectAcknowledged(root: string, { played }: Result, length: number): Promise<void> {
  const database = await openDatabase({ url: null, dataDir: join(root, 'a', 'data') })
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

async function play(isSynced: boolean): Promise<Recording & { readonly played: Result }> {
  const env = { POWER_REPORTS: String(reports), POWER_SYNCED: isSynced ? 'yes' : 'no' }
  const recording = await record('play.ts', env)
  return { ...recording, played: JSON.parse(readFileSync(recording.result, 'utf8')) }
}

describe('an embedded database whose power goes', () => {
  it(
    'keeps what was acknowledged, once, and opens by itself',
    async () => {
      const { steps, root, played } = await play(true)
      const home = join(temporaryFolder(), 'home')
      cutPower(steps, root, home, 'everything', Math.random)
      // Nothing is missing in the record.
      expect(contentsOf(home)).toEqual(contentsOf(root))

      const random = randomOf(seed)
      // Also the entry of the log's newest file is on the disk.
      const { 'last end': length = 0 } = played.phases
      rmSync(home, { recursive: true })
      cutPower(stepsUntil(steps, length), root, home, 'nothing', random)
      await expectAcknowledged(home, played, length)

      const begins = Object.values(played.phases)
      const phases = begins.map((from, index) => ({ from, to: begins[index + 1] ?? Number.POSITIVE_INFINITY }))
      const cuts = runs(someOf(2, 5), 200)
      for (let n = 0; n < cuts; n += 1) {
        const { from, to } = pick(phases, n / cuts)
        const { end: length } = pick(
          steps.filter(({ end }) => end > from && end <= to),
          random(),
        )
        const left = pick(['some', 'some', 'nothing', 'everything'] as const, random())
        rmSync(home, { recursive: true })
        cutPower(stepsUntil(steps, length), root, home, left, random)
        await expectAcknowledged(home, played, length).catch((error: unknown) => {
          throw new Error(`cut ${n}, ${left} left of the ${length} bytes that were recorded`, { cause: error })
        })
      }
    },
    runs(120_000, 3_600_000),
  )

  it.runIf(isWhole)('loses something where commits are not synced', async () => {
    const { steps, root, played } = await play(false)
    const home = join(temporaryFolder(), 'home')
    const { 'last end': length = 0 } = played.phases
    cutPower(stepsUntil(steps, length), root, home, 'nothing', Math.random)
    await expect(expectAcknowledged(home, played, length)).rejects.toThrow(/^edge-/)
  })
})

/** `share`: below 1. */
function pick<T>(list: readonly T[], share: number): T {
  return list[Math.floor(share * list.length)] ?? expect.unreachable()
}
