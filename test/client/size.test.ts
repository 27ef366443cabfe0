/** What the client costs a frontend: bytes on the wire, and libraries. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { readPage, root } from '../support/documentation.ts'

const folder = join(root, 'src/apps/client')
const adapters = ['urql.ts', 'apollo.ts', 'relay.ts', 'react.ts', 'observe.ts']

/** The client with both transports, without graphql-ws. */
async function bundle() {
  const contents = "export * from './client.ts'; export * from './websocket.ts'"
  const own = { bundle: true, minify: true, write: false, metafile: true } as const
  const { outputFiles, metafile } = await build({
    ...own,
    stdin: { contents, resolveDir: folder },
    ...{ format: 'esm', platform: 'neutral', packages: 'external' },
  })
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  return { bytes: outputFiles[0]?.contents ?? expect.unreachable(), imported }
}

it('is at most 6 kB, compressed, and needs graphql-ws alone', async () => {
  const { bytes, imported } = await bundle()
  expect(gzipSync(bytes).length).toBeLessThan(6_000)
  expect(imported).toEqual(['graphql-ws'])
})

it('is at most 600 lines without the adapters', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !adapters.includes(name))
  const lines = files.map((name) => readFileSync(join(folder, name), 'utf8').split('\n').length - 1)
  expect(lines.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(600)
})

it('is exported with its types, each file that the build makes', () => {
  const { exports } = JSON.parse(readPage('package.json'))
  const built = [
    ...(/clientEntries = \[(.*)\]/.exec(readPage('src/server/build/build.ts'))?.[1]?.matchAll(/\w+/g) ?? []),
  ]
  const paths = [...built.map(([name]) => `client/${name}`), 'device/device']
  expect(Object.values(exports).flatMap((one) => (typeof one === 'string' ? [] : [one]))).toEqual(
    paths.map((path) => ({ types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` })),
  )
})
