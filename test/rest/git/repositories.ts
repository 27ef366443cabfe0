/** Documents for repositories, and a server that serves some. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { registerAll } from '../../auth/devices/devices.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

/** The smallest document, distinguished by `value`. */
export function documentOf(value: string, more = ''): string {
  const components = [{ name: 'main', properties: { revision: value } }]
  return `${JSON.stringify({ spec: { deploymentProfile: { type: 'helm', components } } })}\n${more}`
}

/** A server of the device `new`. Its repositories are gone when it has stopped. */
export function useRepositories() {
  let server: RunningApp
  let folder = ''
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'))
    server = await startApp({ env: { GIT: 'git', GIT_DIRECTORY: folder } })
    await registerAll(server, [{ deviceId: 'new' }])
  })
  afterAll(async () => {
    await server.stop()
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true })
  })
  const at = (device: string): string => `${server.url}/git/${encodeURIComponent(device)}.git`
  return { server: () => server, at }
}
