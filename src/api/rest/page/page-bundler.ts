/** The thread that bundles the dashboard with esbuild and posts the files. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { build, stop } from 'esbuild'
import type { PageBundle } from './page-bundle.ts'

const folder = join(import.meta.dirname, '../../../apps/dashboard')

async function bundle(): Promise<PageBundle> {
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

parentPort?.postMessage(await bundle())
