/** The pages of the documentation: of docs/ in a checkout, of one file in the package. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isBundled, root } from '../../platform/installation.ts'

/** In the folder of the bundle. */
export const builtPages = 'docs.json'

let read: Promise<ReadonlyMap<string, string>> | null = null

export function readPages(): Promise<ReadonlyMap<string, string>> {
  read ??= isBundled ? readBuilt() : readFolder()
  return read
}

async function readBuilt(): Promise<ReadonlyMap<string, string>> {
  return new Map(JSON.parse(await readFile(join(root, 'dist', builtPages), 'utf8')))
}

async function readFolder(): Promise<ReadonlyMap<string, string>> {
  const folder = join(root, 'docs')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.md')).sort()
  const texts = files.map(
    async (name) => [name.slice(0, -'.md'.length), await readFile(join(folder, name), 'utf8')] as const,
  )
  return new Map(await Promise.all(texts))
}
