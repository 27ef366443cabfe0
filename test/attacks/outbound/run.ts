/** `npm run attack -- --outbound --minutes 60`: the systems that a server asks are hostile. `--seed` repeats a run; `--only` has all do the same. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attackOutbound } from './attack.ts'
import { describe, problemsOf } from './report.ts'

interface RunOptions {
  readonly minutes: number
  readonly seed: number
  readonly only?: string | undefined
}

/** Milliseconds. */
const phase = 8_000

export async function runOutbound({ minutes, seed, only }: RunOptions): Promise<boolean> {
  console.log(`outbound, seed ${seed}`)
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-attack-'))
  try {
    const found = await attackOutbound({
      ...{ seed, phase, time: minutes * 60_000, env: { DATA_DIR: folder } },
      ...(only !== undefined && { only }),
      progress: (modes) => console.log(`  ${modes || 'all are good'}`),
    })
    console.log(describe(found))
    return problemsOf(found).length === 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
