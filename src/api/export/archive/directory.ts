/** Files in a directory. A file has its name when all of it is on the disk, and not before: a partial file is never taken for a whole one. */
import { randomUUID } from 'node:crypto'
import { access, constants, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface Storage {
  /** Replaces a file of that name. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** Null: there is no such file. Throws if it has more than `most` bytes. */
  get(name: string, most: number): Promise<Buffer | null>
}

/** Milliseconds after which no server writes a partial file any more. */
const abandonedAfter = 24 * 60 * 60 * 1000
const partialName = /\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/

export function createDirectory(root: string): Storage {
  /** Folders whose abandoned files this server has removed. */
  const swept = new Set<string>()

  return {
    async put(name, bytes) {
      const path = join(root, name)
      // Not the root: if it is missing, it is not the archive that the operator means.
      await mkdir(dirname(path)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      const folder = dirname(path)
      if (!swept.has(folder)) await removeAbandoned(folder)
      swept.add(folder)
      const temporary = `${path}.${randomUUID()}.tmp`
      try {
        const file = await open(temporary, 'wx')
        try {
          await file.writeFile(bytes)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(temporary, path)
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
      await syncFolder(folder)
    },
    async get(name, most) {
      const path = join(root, name)
      try {
        const { size } = await stat(path)
        if (size > most) throw new Error(`${path} has more than ${most} bytes`)
        return await readFile(path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        // A directory that is missing or read-only is noticed now, and not months later, when the first rows expire.
        await access(root, constants.W_OK)
        return null
      }
    },
  }
}

/** Removes the partial files of servers that were killed. They only take space, so what cannot be removed is left. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    // Another server may remove it, too.
    const changed = partialName.test(name) ? await stat(path).catch(() => null) : null
    if (changed && Date.now() - changed.mtimeMs > abandonedAfter) await rm(path).catch(() => undefined)
  }
}

/** Otherwise a power cut could take the new name back. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
