/**
 * The reports of a device that wait, in a file. The devices of examples/ in Python and C have the same format, and the same lock:
 *
 *   line = CRC-32 of the rest (8 hexadecimal digits), a space, the rest
 *   rest = seq, deployment ID (as in a path), body: a report that waits
 *        | seq, boot: every report up to seq is done
 *
 * A line that does not end was never on the disk as a whole, and is cut off. When too much is done, the file is written anew. `boot` names the
 * file, and its numbers rise over all restarts, so no report is taken for an older one.
 */
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

export interface Entry {
  readonly seq: number
  /** As in a path. */
  readonly deployment: string
  readonly body: string
  /** Bytes of its line. */
  readonly size: number
}

export class QueueFull extends Error {}

export type Journal = ReturnType<typeof openJournal>

/** Bytes of what is done, in a file in which less waits. */
const mostDone = 64 << 10

export function openJournal(folder: string, maxBytes: number) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = lockFolder(folder)
  const path = join(folder, 'journal')
  let file = openFile(path)
  let [boot, seq, size, waitingSize] = ['', 0, 0, 0]
  let waiting: Entry[] = []
  /** The names of files are not yet on the disk. */
  let isRenamed = true
  read()

  function read(): void {
    const bytes = fs.readFileSync(path)
    size = bytes.lastIndexOf('\n') + 1
    fs.ftruncateSync(file, size)
    for (const line of bytes.toString('utf8', 0, size).split('\n').slice(0, -1)) {
      const [, sum = '', rest = ''] = /^(\w{8}) (.*)$/s.exec(line) ?? []
      const [, number, name = '', body] = /^(\d+) (\S+)(?: (.*))?$/s.exec(rest) ?? []
      if (name === '' || checksum(rest) !== sum) {
        putAside(line, 'damaged on the disk')
        continue
      }
      seq = Math.max(seq, Number(number))
      if (body !== undefined)
        waiting.push({ seq: Number(number), deployment: name, body, size: Buffer.byteLength(line) + 1 })
      else {
        boot = name
        waiting = waiting.filter((entry) => entry.seq > Number(number))
      }
    }
    waitingSize = sizeOf(waiting)
    if (boot !== '') return
    boot = randomBytes(8).toString('hex')
    write(Buffer.from(lineOf(`0 ${boot}`)))
  }

  function write(bytes: Buffer, isDurable = false): void {
    try {
      writeAt(file, bytes, size)
      if (isDurable) {
        fs.fdatasyncSync(file)
        if (isRenamed) for (const one of [folder, dirname(folder)]) syncFolder(one)
        isRenamed = false
      }
      size += bytes.length
    } catch (error) {
      fs.ftruncateSync(file, size)
      throw error
    }
  }

  function writeAnew(doneSeq: number): void {
    const next = openFile(`${path}.new`)
    const lines = waiting.map(({ seq, deployment, body }) => lineOf(`${seq} ${deployment} ${body}`))
    const bytes = Buffer.from(lineOf(`${doneSeq} ${boot}`) + lines.join(''))
    try {
      fs.ftruncateSync(next)
      writeAt(next, bytes, 0)
      fs.fdatasyncSync(next)
      fs.renameSync(`${path}.new`, path)
    } catch (error) {
      fs.closeSync(next)
      throw error
    }
    fs.closeSync(file)
    file = next
    size = bytes.length
    isRenamed = true
  }

  /** In another file. Two are kept: the newer one, and the one before. */
  function putAside(body: string, reason: string): void {
    const aside = join(folder, 'rejected')
    fs.appendFileSync(aside, `${body}\t${reason.replaceAll(/\s+/g, ' ')}\n`, { flush: true, mode: 0o600 })
    if (fs.statSync(aside).size > maxBytes / 2) fs.renameSync(aside, `${aside}.1`)
  }

  return {
    boot,
    waiting: (): readonly Entry[] => waiting,
    putAside,
    /** Returns the number when the report is on the disk. */
    append(deployment: string, bodyOf: (seq: number) => string): number {
      const body = bodyOf(seq + 1)
      const bytes = Buffer.from(lineOf(`${seq + 1} ${deployment} ${body}`))
      if (waitingSize + bytes.length > maxBytes)
        throw new QueueFull(`the queue is full: ${waitingSize} bytes of reports wait, and ${maxBytes} may`)
      seq += 1
      write(bytes, true)
      waiting.push({ seq, deployment, body, size: bytes.length })
      waitingSize += bytes.length
      return seq
    },
    /** The first ones are done. It may fail: then they are sent once more after a restart, which changes nothing. */
    done(count: number): void {
      const [last] = waiting.slice(0, count).slice(-1)
      if (!last) return
      waiting = waiting.slice(count)
      waitingSize = sizeOf(waiting)
      try {
        write(Buffer.from(lineOf(`${last.seq} ${boot}`)))
        if (size - waitingSize > Math.max(mostDone, waitingSize)) writeAnew(last.seq)
      } catch {}
    },
    close(): void {
      fs.closeSync(file)
      lock.close()
    },
  }
}

/** By SQLite, because Node.js has no lock of the kernel itself. It ends with its process. */
function lockFolder(folder: string): DatabaseSync {
  const lock = new DatabaseSync(join(folder, 'lock'), { timeout: 0 })
  try {
    lock.exec('pragma journal_mode = memory; begin exclusive')
    return lock
  } catch (cause) {
    lock.close()
    throw new Error(`${folder} is in use: each process needs a folder of its own`, { cause })
  }
}

function openFile(path: string): number {
  return fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
}

function lineOf(rest: string): string {
  return `${checksum(rest)} ${rest}\n`
}

function checksum(rest: string): string {
  return crc32(rest).toString(16).padStart(8, '0')
}

function sizeOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0)
}

function writeAt(file: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at, bytes.length - at, position + at)
}

function syncFolder(folder: string): void {
  const handle = fs.openSync(folder, 'r')
  fs.fsyncSync(handle)
  fs.closeSync(handle)
}
