/** Copies an initialised database (make-template.mjs) into a new folder. */
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import { syncAll, syncFolder } from './files.ts'
import { unpackTar } from './tar.ts'

/**
 * Copies into a temporary folder first, then renames it, so that a killed process leaves nothing that looks like a database. All of it is on the disk
 * before the rename, and the folder is when this resolves.
 */
export async function unpackTemplate(template: Uint8Array, folder: string): Promise<void> {
  const beginning = `${folder}.new`
  rmSync(beginning, { recursive: true, force: true })
  mkdirSync(beginning, { recursive: true, mode: 0o700 })
  await unpackTar(Readable.from([template]).pipe(createZstdDecompress()), beginning)
  await syncAll(beginning)
  renameSynced(beginning, folder)
}

/** Up to the root: the server may have made the folders above it, too. */
export function renameSynced(from: string, to: string): void {
  renameSync(from, to)
  for (let above = dirname(to); ; above = dirname(above)) {
    syncFolder(above)
    if (above === dirname(above)) return
  }
}
