/** The programs as the package ships them: they start in half the processor time that src/ takes. Made once for each state of the sources. */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, globSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../documentation.ts'

const cache = join(root, 'node_modules/.cache/rollcall-test/built')

/** The folder, with dist/. */
export async function buildPrograms(): Promise<string> {
  const sources = globSync(['src/**/*.*', 'package-lock.json'], { cwd: root }).toSorted()
  const state = createHash('sha256')
  for (const file of sources) {
    const { size, mtimeMs } = statSync(join(root, file))
    state.update(`${file} ${size} ${mtimeMs}\n`)
  }
  const folder = join(cache, state.digest('hex').slice(0, 16))
  if (existsSync(folder)) return folder
  removeOld()
  const { bundleClient, bundleDevice, bundlePrograms } = await import('../../../src/server/build/build.ts')
  const made = join(cache, randomUUID())
  mkdirSync(made, { recursive: true })
  await Promise.all([
    bundlePrograms(join(made, 'dist')),
    bundleClient(join(made, 'dist/client')),
    bundleDevice(join(made, 'dist/device')),
  ])
  for (const name of ['package.json', 'drizzle']) symlinkSync(join(root, name), join(made, name))
  try {
    renameSync(made, folder)
  } catch {
    // Another run has made it meanwhile.
    rmSync(made, { recursive: true })
  }
  return folder
}

/** Those of sources that have changed since. Another run may still use a new one. */
function removeOld(): void {
  for (const folder of globSync('*', { cwd: cache }).map((name) => join(cache, name))) {
    const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
    if (Date.now() - mtimeMs > 86_400_000) rmSync(folder, { recursive: true, force: true })
  }
}
