/** Hostile systems for ten minutes, with another seed each time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { isDeep, seed } from '../support/runner/depth.ts'
import { childEnvironment } from '../support/servers/child.ts'
import { attackOutbound } from './outbound/attack.ts'
import { describe, problemsOf } from './outbound/report.ts'

const minute = 60_000

// Ten minutes are too long for .ci/run.
it.runIf(isDeep)(
  'no system that the server asks brings it down in ten minutes, and its memory stays',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-attack-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const env = { ...childEnvironment(), DATA_DIR: folder }
    const found = await attackOutbound({ seed, time: 10 * minute, phase: 8_000, env })
    console.log(describe(found))
    expect(problemsOf(found)).toEqual([])
  },
  15 * minute,
)
