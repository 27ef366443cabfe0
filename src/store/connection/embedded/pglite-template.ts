/** Copies an initialised database (make-template.mjs) into a new folder. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'
import { syncAll, syncFolder } from './files.ts'

/**
 * Copies into a temporary folder first, then renames it, so that a killed process leaves nothing that looks like a database. All of it is on the disk
 * before the rename, and the folder is when this resolves.
 */
export async function unpackTemplate(tar: Uint8Array, folder: string): Promise<void> {
  const beginning = `${folder}.new`
  rmSync(beginning, { recursive: true, force: true })
  mkdirSync(beginning, { recursive: true, mode: 0o700 })
  for (const { path, content } of entriesOf(tar)) {
    const target = join(beginning, path)
    if (content === null) mkdirSync(target, { recursive: true, mode: 0o700 })
    else {
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
      writeFileSync(target, content, { mode: 0o600 })
    }
  }
  await syncAll(beginning)
  renameSync(beginning, folder)
  // Up to the root: the server may have made those above it, too.
  for (let above = dirname(folder); ; above = dirname(above)) {
    syncFolder(above)
    if (above === dirname(above)) return
  }
}

/** The entries of a ustar archive: 512 bytes of header each, then the content, padded to 512 again. `content` null: a folder. */
function* entriesOf(tar: Uint8Array): Generator<{ readonly path: string; readonly content: Uint8Array | null }> {
  const field = (header: Uint8Array, from: number, length: number): string =>
    Buffer.from(header.subarray(from, from + length))
      .toString()
      .replace(/\0.*$/s, '')
  for (let at = 0; at + 512 <= tar.length; ) {
    const header = tar.subarray(at, at + 512)
    const [name, prefix] = [field(header, 0, 100), field(header, 345, 155)]
    if (name === '') return
    const size = Number.parseInt(field(header, 124, 12), 8) || 0
    const path = normalize(join(sep, prefix, name))
    yield { path, content: field(header, 156, 1) === '5' ? null : tar.subarray(at + 512, at + 512 + size) }
    at += 512 + Math.ceil(size / 512) * 512
  }
}
