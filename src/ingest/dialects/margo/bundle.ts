/**
 * All documents of a manifest in one archive. The manifest states the archive's digest, but the archive is built again for each
 * request. So its bytes must not depend on the time, the machine, or the version of a library. That is why tar and gzip are written here.
 */
import { crc32 } from 'node:zlib'
import { digestOf } from '../../../platform/body/digest.ts'
import type { BundledDocument } from '../devices.ts'

const block = 512
/** The maximum size of a stored block of deflate. */
const stored = 0xffff

export function createBundle(documents: readonly BundledDocument[]): Buffer {
  if (documents.length === 0) throw new RangeError('Margo has no empty bundle')
  const files = documents
    .map(({ deploymentId, content }) => ({ name: nameEntry(deploymentId), content: Buffer.from(content) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const parts = files.flatMap(({ name, content }) => [createHeader(name, content.length), content, pad(content.length)])
  return gzip(Buffer.concat([...parts, Buffer.alloc(2 * block)]))
}

/** Maps an ID to a unique file name without a folder. A short ID stays readable; a long one is replaced by its digest. */
function nameEntry(deploymentId: string): string {
  const encoded = encodeURIComponent(deploymentId.toWellFormed()).replace(/[!'()*~]|^[.-]/g, percent)
  return encoded.length <= 95 ? `${encoded}.yaml` : `${digestOf(deploymentId).replace(':', '~')}.yaml`
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** POSIX ustar. */
function createHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(block)
  const octal = (value: number, at: number, digits: number) => header.write(value.toString(8).padStart(digits, '0'), at)
  header.write(name, 0)
  octal(0o644, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size, 124, 11)
  octal(0, 136, 11)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  octal(0, 329, 7)
  octal(0, 337, 7)
  // The checksum is computed with spaces in its own field.
  header.fill(' ', 148, 156)
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  )
  header.write('\0', 154)
  return header
}

function pad(size: number): Buffer {
  return Buffer.alloc((block - (size % block)) % block)
}

/** Not compressed: the result of compression may change with every version of zlib. */
function gzip(content: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])]
  for (let at = 0; at < content.length; at += stored) {
    const piece = content.subarray(at, at + stored)
    const head = Buffer.alloc(5)
    head.writeUInt8(at + stored >= content.length ? 1 : 0, 0)
    head.writeUInt16LE(piece.length, 1)
    head.writeUInt16LE(piece.length ^ 0xffff, 3)
    parts.push(head, piece)
  }
  const end = Buffer.alloc(8)
  end.writeUInt32LE(crc32(content), 0)
  end.writeUInt32LE(content.length % 2 ** 32, 4)
  return Buffer.concat([...parts, end])
}
