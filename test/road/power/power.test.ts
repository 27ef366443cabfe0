/** The power goes at a random moment: every acknowledged report is kept, once, and the embedded database opens again by itself. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/store/open.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { cutPower, type Left } from '../../support/power/cut.ts'
import { contentsOf, cutsIn, expectAcknowledged, randomOf, stepsUntil } from '../../support/power/cuts.ts'
import type { Result } from '../../support/power/play.ts'
import { type Recording, record } from '../../support/power/recording.ts'
import { isWhole, runs } from '../../support/runner/depth.ts'

const reports = runs(300, 2_000)

const open = (root: string) => openDatabase({ url: null, dataDir: join(root, 'a', 'data') })

/** Opens the database, and the power goes again before that is done. */
async function cutWhileItRecovers(home: string, random: () => number): Promise<void> {
  const base = join(temporaryFolder(), 'base')
  cpSync(home, base, { recursive: true })
  const { steps } = await record('reopen.ts', {}, home)
  const opened = contentsOf(home)
  const cut = (count: number, left: Left): void => {
    rmSync(home, { recursive: true })
    cutPower(steps.slice(0, count), home, home, left, random, { base })
  }
  cut(steps.length, 'everything')
  expect(contentsOf(home)).toEqual(opened)
  cut(Math.floor(random() * steps.length), 'some')
  rmSync(base, { recursive: true })
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

      const random = randomOf()
      // Also the entry of the log's newest file is on the disk.
      const { 'last end': whole = 0 } = played.phases
      rmSync(home, { recursive: true })
      cutPower(stepsUntil(steps, whole), root, home, 'nothing', random)
      await expectAcknowledged(await open(home), played, whole)

      for (const { number, length, left } of cutsIn(played, steps, runs(5, 200), random)) {
        rmSync(home, { recursive: true })
        cutPower(stepsUntil(steps, length), root, home, left, random)
        if (number % 5 === 2) await cutWhileItRecovers(home, random)
        try {
          await expectAcknowledged(await open(home), played, length)
        } catch (cause) {
          throw new Error(`cut ${number}, ${left} left of the ${length} bytes that were recorded`, { cause })
        }
      }
    },
    runs(300_000, 3_600_000),
  )

  it.runIf(isWhole)('loses something where commits are not synced', async () => {
    const { steps, root, played } = await play(false)
    const home = join(temporaryFolder(), 'home')
    const { 'last end': length = 0 } = played.phases
    cutPower(stepsUntil(steps, length), root, home, 'nothing', Math.random)
    await expect(expectAcknowledged(await open(home), played, length)).rejects.toThrow(/^edge-/)
  })
})
