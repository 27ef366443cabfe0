/**
 * The files of the dashboard. In a checkout, page-bundler.ts bundles src/dashboard in memory, so no build step is necessary. The package contains
 * the bundle in page.json, so an installation needs neither esbuild nor the libraries of the page.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

export interface PageBundle {
  readonly html: string
  /** By path. Each name contains the hash of the file. */
  readonly assets: Readonly<Record<string, string>>
}

/** With the operations of the page, for servers that execute only listed documents. */
export interface BuiltPage extends PageBundle {
  readonly documents: readonly string[]
}

const built = join(import.meta.dirname, '../../page.json')

/** Null in a checkout. */
export async function readBuiltPage(): Promise<BuiltPage | null> {
  try {
    return JSON.parse(await readFile(built, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** In a thread: esbuild starts a process, and ends the thread that asked for it if the process cannot start or is lost. */
export async function bundlePage(): Promise<PageBundle> {
  const worker = new Worker(new URL('./page-bundler.ts', import.meta.url))
  const [bundle] = await once(worker, 'message')
  return bundle
}
