/** Records a script's changes of files in a process of its own. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { temporaryFolder } from '../folder.ts'
import { childEnvironment, startNode } from '../servers/child.ts'
import { readSteps, type Step } from './cut.ts'

export interface Recording {
  /** All that the script did is there now. */
  readonly root: string
  readonly result: string
  readonly steps: readonly Step[]
}

const here = (name: string): string => new URL(name, import.meta.url).pathname

/** `root`: absent, an empty folder. */
export async function record(script: string, env: Readonly<Record<string, string>>, root?: string): Promise<Recording> {
  const folder = temporaryFolder()
  const all = root ?? join(folder, 'root')
  mkdirSync(all, { recursive: true })
  const [log, result] = [join(folder, 'log'), join(folder, 'result')]
  const options = { POWER_ROOT: all, POWER_LOG: log, POWER_RESULT: result, ...env }
  const child = startNode([here(script)], { NODE_OPTIONS: withRecorder(), ...options })
  expect(await child.ended, child.lines.join('\n')).toBe(0)
  return { root: all, result, steps: readSteps(log) }
}

/** NODE_OPTIONS of a process that is recorded, or has faults. */
export function withRecorder(): string {
  return `${childEnvironment().NODE_OPTIONS} --import=${here('recorder.ts')}`
}
