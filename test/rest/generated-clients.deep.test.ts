/** Generators of clients accept the OpenAPI document. What they make compiles, and a client of one of them reports, is refused, and asks. */
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { root } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startApp } from '../support/servers/app.ts'

const run = promisify(execFile)

/** Both need the TypeScript that is written in JavaScript. ts-morph has a copy of it. */
const generate = `
  import { readFileSync, writeFileSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  const classic = 'data:text/javascript,' + encodeURIComponent('export { ts as default } from ' + JSON.stringify(import.meta.resolve('@ts-morph/common')))
  registerHooks({
    resolve: (name, context, next) =>
      name === 'typescript' && /openapi-ts|openapi-typescript|hey-api/.test(context.parentURL) ? { url: classic, shortCircuit: true } : next(name, context),
  })
  const { default: openapiTS, astToString } = await import('openapi-typescript')
  const { createClient } = await import('@hey-api/openapi-ts')
  writeFileSync('types.ts', astToString(await openapiTS(readFileSync(process.argv[2], 'utf8'))))
  await createClient({ input: process.argv[2], output: 'client', logs: { level: 'silent' } })
`

const use = `
  import { checkReadiness, reportBacklog, reportStatus100Rc3, showInstance } from './client'
  import type { components, paths } from './types'

  type Post = paths['/api/v1/deployments/{deploymentId}/status']['post']
  export const verdict: Post['responses'][200]['content']['application/json']['verdict'] = 'STALE'
  const body: components['schemas']['margo-status-1.0'] = {
    deploymentId: 'pump',
    deviceId: 'edge-1',
    adoptedManifestVersion: 7,
    status: { state: 'installed' },
    components: [],
  }
  // @ts-expect-error There is no such state.
  export const wrong: components['schemas']['margo-status-1.0'] = { ...body, status: { state: 'broken' } }

  export async function talk(baseUrl: string) {
    const at = { baseUrl, path: { deploymentId: 'pump' } }
    const ready = await checkReadiness({ baseUrl })
    const reported = await reportStatus100Rc3({ ...at, body })
    const refused = await reportStatus100Rc3({ ...at, body: { ...body, deploymentId: 'other' } })
    const many = await reportBacklog({ baseUrl, body: { reports: [body] } })
    const missing = await showInstance({ baseUrl, path: { instanceId: 'none' } })
    return [
      ready.data?.status,
      reported.data?.verdict,
      refused.error?.errors[0]?.field,
      many.data?.results[0]?.verdict,
      missing.error?.status,
    ]
  }
`

it('openapi-typescript and @hey-api/openapi-ts make what compiles, and a client that works', async () => {
  const folder = temporaryFolder()
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: 'esnext', moduleResolution: 'bundler', target: 'esnext' },
    ...{ skipLibCheck: true, types: [], lib: ['esnext', 'dom', 'dom.iterable'] },
  }
  const files = {
    'generate.mjs': generate,
    'use.ts': use,
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['use.ts'] }),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  await run(process.execPath, ['generate.mjs', join(root, 'docs/openapi.yaml')], { cwd: folder })
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')

  const outfile = join(folder, 'use.mjs')
  await build({ entryPoints: [join(folder, 'use.ts')], outfile, bundle: true, format: 'esm', platform: 'node' })
  const { talk } = (await import(outfile)) as { talk(baseUrl: string): Promise<readonly unknown[]> }
  const server = await startApp()
  expect(await talk(server.url)).toEqual(['ready', 'APPLIED', 'deploymentId', 'UNCHANGED', 404])
  await server.stop()
})
