/**
 * `npm run build`: writes what the package ships, `dist/`: the programs, the client for frontends, and the side of devices. Bundled with the libraries, a server loads 60 files and not 2,000, so it starts in half the
 * processor time and takes 50 MB less memory. A checkout runs src/ as it is.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { builtPages, readPages } from '../../api/mcp/documentation.ts'
import { makeContracts } from '../../api/rest/contract/document.ts'
import { builtContracts } from '../../api/rest/contract/serve.ts'
import { bundlePage } from '../../api/rest/page/page-bundle.ts'
import { readPageDocuments } from '../../api/rest/page/page-documents.ts'
import { root } from '../../platform/installation.ts'

/** Programs, the thread of the embedded database, and what an image runs once. */
const entryPoints = [
  'main.ts',
  'bin.ts',
  'store/connection/embedded/pglite-worker.ts',
  'store/connection/embedded/make-template.mjs',
]

/** What frontends import: exports of package.json. */
const clientEntries = ['client', 'websocket', 'urql', 'apollo', 'relay', 'react']

export const bundling = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  // Libraries that are CommonJS require Node's modules.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  logLevel: 'warning',
} satisfies BuildOptions

/** PGlite reads files beside its module. esbuild makes the page of a checkout. */
export const neverBundled = ['@electric-sql/pglite', 'esbuild']

/** The client of Kubernetes is 10 MB, for those who watch clusters: the package has it among its dependencies. */
const besideTheBundle = [...neverBundled, '@kubernetes/client-node']

/** `folder`: whose parent has package.json and drizzle/. */
export async function bundlePrograms(folder: string, external: string[] = besideTheBundle): Promise<void> {
  const programs = entryPoints.map((path) => join(root, 'src', path))
  await build({ ...bundling, entryPoints: programs, outdir: folder, entryNames: '[name]', splitting: true, external })
  const page = { ...(await bundlePage()), documents: await readPageDocuments() }
  writeFileSync(join(folder, 'page.json'), JSON.stringify(page))
  writeFileSync(join(folder, builtPages), JSON.stringify([...(await readPages())]))
  writeFileSync(join(folder, builtContracts), JSON.stringify([...(await makeContracts())]))
}

/** What devices import: an export of package.json. */
export async function bundleDevice(folder: string): Promise<void> {
  const own = { bundle: true, platform: 'node', format: 'esm', target: 'node24', logLevel: 'warning' } as const
  await build({ ...own, entryPoints: [join(root, 'src/apps/device/device.ts')], outdir: folder })
}

/** For browsers and Node.js, with the libraries that it stands on beside it. */
export async function bundleClient(folder: string, options: BuildOptions = {}): Promise<void> {
  const entryPoints = clientEntries.map((name) => join(root, `src/apps/client/${name}.ts`))
  const own = { bundle: true, splitting: true, packages: 'external', platform: 'neutral', target: 'es2022' } as const
  await build({ ...own, format: 'esm', logLevel: 'warning', entryPoints, outdir: folder, ...options })
}

/** `project`: the folder of its sources. */
function writeTypes(project: string, folder: string): void {
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, project), '--outDir', folder], {
    stdio: 'inherit',
  })
  for (const file of globSync(join(folder, '*.d.ts')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/'(\.\/\w+)\.ts'/g, "'$1.js'"))
}

/** An empty database with its tables, for first starts: to make it takes seconds of processor time. */
export function makeTemplate(folder: string): void {
  const script = `import(${JSON.stringify(join(folder, 'make-template.js'))}).then((module) => module.install())`
  execFileSync(process.execPath, ['-e', script], { stdio: 'inherit' })
}

if (import.meta.main) {
  const folder = join(root, 'dist')
  rmSync(folder, { recursive: true, force: true })
  await bundlePrograms(folder)
  makeTemplate(folder)
  await bundleClient(join(folder, 'client'))
  await bundleDevice(join(folder, 'device'))
  for (const name of ['client', 'device']) writeTypes(`src/apps/${name}`, join(folder, name))
}
