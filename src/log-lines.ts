/**
 * Lines for a file descriptor, written in a thread. pino's own destination was rejected: a full disk ends its process, it keeps lines without limit
 * while their reader does not read, and at the end of the process it waits for both for ever.
 */
import { write, writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { within } from './within.ts'

export interface LogLines {
  write(line: string): void
  /** Waits until nothing waits, at most so many milliseconds. False: the lines that still wait are dropped. */
  flush(time: number): Promise<boolean>
}

/** Characters of lines that wait. Further lines are dropped. */
export const mostWaiting = 1_048_576

/** Milliseconds until a pipe that is full is tried again. */
const pause = 100

export function openLogLines(fd: number): LogLines {
  let waiting = ''
  let writing: Promise<void> | null = null

  /** What cannot be written, for example on a full disk, is dropped, and the next lines are tried. */
  async function writeAll(): Promise<void> {
    while (waiting !== '') {
      let rest = Buffer.from(waiting)
      waiting = ''
      while (rest.length > 0) rest = rest.subarray(await writeSome(fd, rest))
    }
    writing = null
  }

  // A process that ends has no time for another attempt.
  process.on('exit', () => {
    try {
      if (waiting !== '') writeSync(fd, waiting)
    } catch {}
  })
  return {
    write(line) {
      if (waiting.length + line.length > mostWaiting) return
      waiting += line
      writing ??= writeAll()
    },
    async flush(time) {
      const isWritten = writing === null || (await within(time, writing))
      if (!isWritten) waiting = ''
      return isWritten
    },
  }
}

/** The number of bytes that need no further attempt. */
function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    write(fd, bytes, async (error, written) => {
      if (error?.code === 'EAGAIN') resolve(await setTimeout(pause, 0))
      else resolve(error ? bytes.length : written)
    })
  })
}
