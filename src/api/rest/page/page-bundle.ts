/**
 * The files of the dashboard. In a checkout, page-bundler.ts bundles src/apps/dashboard in memory, so no build step is necessary. The package contains
 * the bundle in page.json, so an installation needs neither esbuild nor the libraries of the page.
 */
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { isBundled, root } from '../../../platform/installation.ts'

export interface PageBundle {
  readonly html: string
  /** By path. Each name contains the hash of the file. */
  readonly assets: Readonly<Record<string, string>>
}

/** With the operations of the page, for servers that execute only listed documents. */
export interface BuiltPage extends PageBundle {
  readonly documents: readonly string[]
}

/** Null in a checkout. */
export async function readBuiltPage(): Promise<BuiltPage | null> {
  return isBundled ? JSON.parse(await readFile(join(root, 'dist/page.json'), 'utf8')) : null
}

/** More than the thread and its process need. */
const descriptors = 32

/** Throws the error of the system if the process lacks them. Node and esbuild fail with a different error at each step that lacks one. */
async function requireDescriptors(): Promise<void> {
  const opened = await Promise.allSettled(Array.from({ length: descriptors }, () => open(import.meta.filename)))
  await Promise.all(opened.map((each) => (each.status === 'fulfilled' ? each.value.close() : undefined)))
  for (const each of opened) if (each.status === 'rejected') throw each.reason
}

/** In a thread: esbuild starts a process, and ends the thread that asked for it if the process cannot start or is lost. */
export async function bundlePage(): Promise<PageBundle> {
  await requireDescriptors()
  const worker = new Worker(new URL('./page-bundler.ts', import.meta.url))
  const [bundle] = await once(worker, 'message')
  return bundle
}
