/** Archives in the ustar format of POSIX: the template of a database, and the content of a backup. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

const block = 512

/** `size`: bytes of the file. Null: a folder. */
export function tarHeader(path: string, size: number | null): Buffer {
  const header = Buffer.alloc(block)
  const octal = (value: number, at: number, digits: number): unknown =>
    header.write(value.toString(8).padStart(digits, '0'), at)
  header.write(path, 0, 100)
  octal(size === null ? 0o700 : 0o600, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size ?? 0, 124, 11)
  octal(0, 136, 11)
  header.write(`        ${size === null ? '5' : '0'}`, 148)
  header.write('ustar\x0000', 257, 'latin1')
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  )
  header.write('\0 ', 154, 'latin1')
  return header
}

/** What follows the content of a file. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block)

export const tarEnd = Buffer.alloc(2 * block)

/** Thrown by `unpackTar` for what is no such archive, or only a part of one. */
export class TarError extends Error {
  override readonly name = 'TarError'
}

/** Files and folders that PostgreSQL makes have such names. None leads out of the folder. */
const safe = /^(?!\.\.?(\/|$))[\w.-]+(\/(?!\.\.?(\/|$))[\w.-]+)*\/?$/

interface Entry {
  readonly path: string
  readonly isFolder: boolean
  readonly size: number
}

/** Null: the end of the archive. */
function entryOf(header: Buffer): Entry | null {
  const field = (from: number, length: number): string =>
    header.toString('latin1', from, from + length).replace(/\0.*$/s, '')
  const [name, prefix, type] = [field(0, 100), field(345, 155), field(156, 1)]
  if (name === '') return null
  const path = (prefix === '' ? name : `${prefix}/${name}`).replace(/^\.?\/+/, '')
  const size = Number.parseInt(field(124, 12), 8) || 0
  if (field(257, 5) !== 'ustar' || !['0', '', '5'].includes(type) || (path !== '' && !safe.test(path)))
    throw new TarError('it has an entry that is neither a file nor a folder')
  return { path, isFolder: type === '5' || path === '', size }
}

/** Writes the files as they arrive, so the archive need not fit into memory. `accept` throws to refuse an entry. */
export async function unpackTar(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  folder: string,
  accept: (path: string) => void = () => {},
): Promise<void> {
  const header = Buffer.alloc(block)
  let filled = 0
  let [file, at, end, padding]: [number | null, number, number, number] = [null, 0, 0, 0]
  let isOver = false

  function begin({ path, isFolder, size }: Entry): void {
    accept(path)
    const target = join(folder, path)
    mkdirSync(isFolder ? target : dirname(target), { recursive: true, mode: 0o700 })
    if (!isFolder) file = openSync(target, 'w', 0o600)
    at = 0
    end = isFolder ? 0 : size
    padding = tarPadding(end).length
  }
  function close(): void {
    if (file !== null) closeSync(file)
    file = null
  }
  /** Returns how many bytes it has used. */
  function take(bytes: Uint8Array): number {
    if (file !== null && at < end) {
      const written = writeSync(file, bytes, 0, Math.min(end - at, bytes.length), at)
      at += written
      return written
    }
    close()
    if (padding > 0) {
      const passed = Math.min(padding, bytes.length)
      padding -= passed
      return passed
    }
    header.set(bytes.subarray(0, block - filled), filled)
    const used = Math.min(block - filled, bytes.length)
    filled = (filled + used) % block
    if (filled > 0) return used
    const entry = entryOf(header)
    if (entry) begin(entry)
    else isOver = true
    return used
  }

  try {
    for await (const chunk of chunks)
      for (let used = 0; used < chunk.length && !isOver; ) used += take(chunk.subarray(used))
  } finally {
    close()
  }
  if (!isOver) throw new TarError('it ends too early')
}
