/**
 * `import()` blocks the event loop until a module and all that it imports are there. In a checkout these are a thousand files, which takes a second. Here
 * the event loop turns between files. They are imported in the order in which Node evaluates them, so it makes no other difference.
 */
import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isBundled } from './installation.ts'

/** Milliseconds between two turns. One file, or a library, may take longer. */
const longest = 10

const imported = /^(?:import|export) (?!type )(?:[^'";]* from )?'(\.[^']+\.ts)'/gm

/** `file`: the URL of a module of this program. `libraries`: those that would be a long part, in parts. A package is in one file, and needs none of this. */
export async function importInParts(file: string, libraries: readonly string[]): Promise<void> {
  if (isBundled) return
  let turned = performance.now()
  async function load(url: string): Promise<void> {
    await import(url)
    if (performance.now() - turned < longest) return
    await nextTurn()
    turned = performance.now()
  }
  const seen = new Set<string>()
  async function walk(url: string): Promise<void> {
    if (seen.has(url)) return
    seen.add(url)
    for (const [, to = ''] of readFileSync(new URL(url), 'utf8').matchAll(imported)) await walk(new URL(to, url).href)
    await load(url)
  }
  await nextTurn()
  // One that is not installed at the top is loaded by the library that needs it.
  for (const name of libraries) await load(name).catch(() => undefined)
  await walk(file)
}
