/**
 * `npm run build:executable`: writes `build/rollcall`, one file for machines of this system and processor that have no Node. It is Node's single executable
 * application: this Node, with the package inside.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from '../../platform/installation.ts'
import { bundlePrograms, bundling, makeTemplate, neverBundled } from './build.ts'

const pglite = 'node_modules/@electric-sql/pglite'

/** A thread sees no files inside the executable, so PGlite's code is in that of the thread, which is started from a data: URL. */
const withoutPlace = {
  'import.meta.filename': '"/pglite-worker.js"',
  'import.meta.dirname': '"/"',
  'import.meta.url': '"file:///pglite-worker.js"',
}

/** `-e` is what this program runs to end at once (process-end.ts): any other Node would evaluate it. */
const main = `const [, , option, script] = process.argv
if (option === '-e') process.exit(Number(/\\d+/.exec(script)))
await import('./dist/bin.js')
`

/** Writes the executable to `file`. */
export async function buildExecutable(file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-executable-'))
  try {
    const dist = join(folder, 'dist')
    await bundlePrograms(dist, neverBundled)
    const thread = join(root, 'src/store/connection/embedded/pglite-worker.ts')
    const outfile = join(dist, 'pglite-worker.js')
    await build({ ...bundling, banner: {}, entryPoints: [thread], outfile, define: withoutPlace })
    const pgliteFiles = globSync(`${pglite}/{package.json,dist/*.{js,cjs,wasm,data},dist/fs/nodefs.js}`, { cwd: root })
    const migrations = globSync('drizzle/{*.sql,meta/_journal.json}', { cwd: root })
    for (const path of ['package.json', ...pgliteFiles, ...migrations]) cpSync(join(root, path), join(folder, path))
    makeTemplate(dist)
    const files = globSync('{dist,drizzle,node_modules}/**/*.*', { cwd: folder })
    writeFileSync(join(folder, 'main.mjs'), main)
    const application = {
      main: 'main.mjs',
      mainFormat: 'module',
      output: file,
      execArgv: ['--v8-pool-size=1', '--max-semi-space-size=8'],
      useVfs: true,
      disableExperimentalSEAWarning: true,
      assets: Object.fromEntries(['package.json', ...files].map((path) => [path, join(folder, path)])),
    }
    writeFileSync(join(folder, 'application.json'), JSON.stringify(application))
    execFileSync(process.execPath, ['--build-sea', 'application.json'], { cwd: folder, stdio: 'inherit' })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) {
  mkdirSync(join(root, 'build'), { recursive: true })
  await buildExecutable(join(root, 'build/rollcall'))
}
