/** The power of a PostgreSQL goes at a random moment, also while it recovers: what it keeps is what the embedded database must keep. */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../src/store/open.ts'
import { findPostgres, startPostgres } from '../../support/databases/postgres-server.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { cutPower, type Left, readSteps, type Step } from '../../support/power/cut.ts'
import { contentsOf, cutsIn, expectAcknowledged, randomOf, stepsUntil } from '../../support/power/cuts.ts'
import type { Result } from '../../support/power/play.ts'
import { runs } from '../../support/runner/depth.ts'
import { hasCompiler } from '../../support/runner/programs.ts'
import { startNode } from '../../support/servers/child.ts'

// PostgreSQL and a compiler may be missing: the first lines of the run say so.
it.skipIf(findPostgres() === null || !hasCompiler())(
  'a PostgreSQL whose power goes keeps what was acknowledged, once',
  async () => {
    const folder = temporaryFolder()
    // PostgreSQL runs as another user than root.
    chmodSync(folder, 0o755)
    const library = join(folder, 'recorder.so')
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, here('recorder.c'), '-ldl'])
    // By its socket: it starts so often that another program may have taken its port.
    const postgres = await startPostgres({ isDurable: true, settings: ['listen_addresses='] })
    onTestFinished(() => postgres.dispose())
    const { dataDir } = postgres
    const url = `postgres:///postgres?host=${dirname(dataDir)}&port=${new URL(postgres.url).port}&user=postgres`
    await postgres.stop()
    postgres.backUp()

    /** Starts the server, and records what it does to its files. */
    async function record(name: string): Promise<string> {
      const log = join(folder, name)
      writeFileSync(log, '')
      chmodSync(log, 0o666)
      await postgres.start({ LD_PRELOAD: library, POWER_ROOT: dataDir, POWER_LOG: log })
      return log
    }
    /** `base`: the files of before the steps. Absent: those of the first start. */
    function cut(steps: readonly Step[], left: Left, base?: string): void {
      postgres.replaceFiles((first) => {
        // PostgreSQL relies on it: it does not sync the folders of its tables.
        cutPower(steps, dataDir, dataDir, left, random, { base: base ?? first, syncsEntries: true })
        // pg_ctl refuses one that is empty.
        rmSync(join(dataDir, 'postmaster.pid'), { force: true })
      })
    }
    async function cutWhileItRecovers(): Promise<void> {
      const base = join(folder, 'base')
      cpSync(dataDir, base, { recursive: true })
      const log = await record('recovery')
      await postgres.stop('immediate')
      const steps = readSteps(log)
      cut(steps.slice(0, Math.floor(random() * steps.length)), 'some', base)
      rmSync(base, { recursive: true })
    }

    const random = randomOf()
    const log = await record('log')
    const result = join(folder, 'result')
    const env = { POWER_URL: url, POWER_LOG: log, POWER_RESULT: result, POWER_REPORTS: String(runs(300, 2_000)) }
    const child = startNode([here('play.ts')], env)
    expect(await child.ended, child.lines.join('\n')).toBe(0)
    await postgres.stop()
    const played: Result = JSON.parse(readFileSync(result, 'utf8'))
    const steps = readSteps(log)
    const there = contentsOf(dataDir)
    cut(steps, 'everything')
    // Nothing is missing in the record.
    expect(contentsOf(dataDir)).toEqual(there)

    for (const { number, length, left } of cutsIn(played, steps, runs(10, 200), random)) {
      cut(stepsUntil(steps, length), left)
      if (number % 5 === 2) await cutWhileItRecovers()
      await postgres.start()
      try {
        await expectAcknowledged(await openDatabase({ url, dataDir: '', readLimit: 600_000 }), played, length)
      } catch (cause) {
        throw new Error(`cut ${number}, ${left} left of the ${length} bytes that were recorded`, { cause })
      }
      await postgres.stop('immediate')
    }
  },
  runs(300_000, 3_600_000),
)

function here(name: string): string {
  return new URL(`../../support/power/${name}`, import.meta.url).pathname
}
