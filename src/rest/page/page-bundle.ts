/**
 * The files of the dashboard. In a checkout, esbuild bundles src/dashboard in memory, so no build step is necessary. The package contains the
 * bundle in page.json, so an installation needs neither esbuild nor the libraries of the page.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

interface PageBundle {
  readonly html: string
  /** By path. Each name contains the hash of the file. */
  readonly assets: Readonly<Record<string, string>>
}

/** With the operations of the page, for servers that execute only listed documents. */
export interface BuiltPage extends PageBundle {
  readonly documents: readonly string[]
}

const folder = join(import.meta.dirname, '../../dashboard')
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

export async function bundlePage(): Promise<PageBundle> {
  const { build, stop } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'main.tsx'), join(folder, 'style/main.css'), join(folder, 'icon.svg')],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    outdir: '/assets',
    logLevel: 'silent',
    // The tsconfig of the page is for type checks only.
    tsconfigRaw: {},
  })
  await stop()
  const addresses = outputFiles.map(({ path }) => path)
  const template = await readFile(join(folder, 'index.html'), 'utf8')
  // Relative URLs, so the page also works behind a proxy that serves it under a path.
  const html = template.replaceAll(/(["'])(main|icon)\.(js|css|svg)\1/g, (_, quote, name, extension) => {
    const address = addresses.find((each) => each.startsWith(`/assets/${name}-`) && each.endsWith(`.${extension}`))
    return `${quote}${(address ?? '').slice(1)}${quote}`
  })
  return { html, assets: Object.fromEntries(outputFiles.map(({ path, text }) => [path, text])) }
}
