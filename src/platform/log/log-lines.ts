/**
 * Lines for a file descriptor, written in a thread. pino's own destination was rejected: a full disk ends the process, lines that nothing reads fill
 * the memory, and a process that ends waits for both without limit.
 */
import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../timing/within.ts'

interface LogLines {
  write(line: string): void
  /** Waits until all lines are written, for at most so many milliseconds. False: the rest is dropped. */
  flush(time: number): Promise<boolean>
}

/** Characters of lines that wait. Further lines are dropped. */
export const mostWaiting = 1_048_576

const nothing: Buffer = Buffer.alloc(0)

/** Milliseconds until a pipe that is full is tried again. */
const pause = 100

export function openLogLines(fd: number): LogLines {
  let waiting = ''
  /** What is written now, of which the thread may have taken a part. */
  let rest: Buffer = nothing
  let isInThread = false
  let writing: Promise<void> | null = null

  /** What cannot be written, for example on a full disk, is dropped, and the next lines are tried. */
  async function writeAll(): Promise<void> {
    while (waiting !== '') {
      rest = Buffer.from(waiting)
      waiting = ''
      while (rest.length > 0) await writeSome()
    }
    writing = null
  }

  async function writeSome(): Promise<void> {
    isInThread = true
    const { error, written } = await attempt(fd, rest)
    isInThread = false
    if (error?.code === 'EAGAIN') await sleep(pause)
    else rest = rest.subarray(error ? rest.length : written)
  }

  // A process that ends has no time for another attempt.
  process.on('exit', () => {
    const left = Buffer.concat([isInThread ? nothing : rest, Buffer.from(waiting)])
    drop()
    try {
      if (left.length > 0) writeSync(fd, left)
    } catch {}
  })
  function drop(): void {
    waiting = ''
    rest = nothing
  }
  return {
    write(line) {
      if (line === '' || waiting.length + line.length > mostWaiting) return
      waiting += line
      writing ??= writeAll()
    },
    async flush(time) {
      const isWritten = writing === null || (await within(time, writing))
      if (!isWritten) drop()
      return isWritten
    },
  }
}

interface Attempt {
  readonly error: NodeJS.ErrnoException | null
  /** Bytes. */
  readonly written: number
}

function attempt(fd: number, bytes: Buffer): Promise<Attempt> {
  return new Promise((resolve) => write(fd, bytes, (error, written) => resolve({ error, written })))
}
