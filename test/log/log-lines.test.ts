import { execFileSync } from 'node:child_process'
import { constants, createReadStream, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { mostWaiting, openLogLines } from '../../src/platform/log/log-lines.ts'
import { type Child, startNode } from '../support/servers/child.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-log-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The program with its stderr as the shell's commands make it. */
function startWith(commands: string): Child {
  const script = `${commands.replace('serve', 'exec "$0" src/main.ts')}`
  const env = { DATA_DIR: 'memory', PORT: '0', FIFO: join(folder, 'stderr') }
  return startNode(['-c', script, process.execPath], env, '/bin/sh')
}

const fill = 'head -c 65536 /dev/zero'

describe('the program', () => {
  it.each([
    ['goes to a full disk', 'serve 2>/dev/full'],
    ['goes to a reader that does not read', `mkfifo "$FIFO" && exec 3<>"$FIFO" && ${fill} >&3 && serve 2>&3`],
  ])('serves and ends while its log %s', async (_, commands) => {
    const program = startWith(commands)
    const url = (await program.said(/listens on/)).split(' ').at(-1)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    program.process.kill('SIGTERM')
    expect(await program.ended).toBe(0)
  })
})

it('the program serves after the reader of its output has ended', async () => {
  const script = '"$0" src/main.ts | true'
  const program = startNode(['-c', script, process.execPath], { DATA_DIR: 'memory', PORT: '0' }, '/bin/sh')
  const listening = JSON.parse(await program.said(/"listening"/))
  expect((await fetch(`${listening.url}/readyz`)).status).toBe(200)
  process.kill(listening.pid, 'SIGTERM')
  await program.said(/"shut down"/)
  await program.ended
})

describe('lines of the log', () => {
  it('are dropped beyond a limit while their reader does not read, and written in order afterwards', async () => {
    const path = join(folder, 'lines')
    execFileSync('mkfifo', [path])
    const fd = openSync(path, constants.O_RDWR)
    const full = 65_536
    writeSync(fd, Buffer.alloc(full))
    const lines = openLogLines(fd)
    const [first, other, last] = ['first\n', `${'x'.repeat(999)}\n`, 'last\n']
    lines.write(first)
    for (let length = 0; length < 3 * mostWaiting; length += other.length) lines.write(other)

    let text = ''
    const reader = createReadStream(path, { encoding: 'latin1' }).on('data', (chunk) => {
      text += chunk
    })
    expect(await lines.flush(60_000)).toBe(true)
    lines.write(last)
    await expect.poll(() => text.endsWith(last)).toBe(true)
    reader.destroy()
    expect(text.slice(full).startsWith(first + other)).toBe(true)
    expect(text.length - full).toBeGreaterThan(mostWaiting / 2)
    expect(text.length - full).toBeLessThanOrEqual(first.length + mostWaiting + last.length)
  })
})
