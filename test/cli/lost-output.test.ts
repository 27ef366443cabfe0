import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { casesOf } from '../support/runner/depth.ts'
import { childEnvironment } from '../support/servers/child.ts'
import { useServer } from './harness.ts'

const server = useServer()

describe.skipIf(!existsSync('/dev/full'))('on a full disk', () => {
  it.each(casesOf(2, [[['counts']], [['counts', '--json']], [['--help']], [['export', 'changes', '--format', 'csv']]]))(
    '%j says that its output is lost',
    async (command) => {
      const full = openSync('/dev/full', 'w')
      const child = spawn(process.execPath, ['src/bin.ts', ...command], {
        cwd: new URL('../../', import.meta.url),
        env: { ...childEnvironment(), ROLLCALL_URL: server().url },
        stdio: ['ignore', full, 'pipe'],
      })
      closeSync(full)
      const [said, [code]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'close')])
      expect([code, said]).toEqual([1, expect.stringMatching(/^cannot write the output: ENOSPC/)])
    },
  )
})
