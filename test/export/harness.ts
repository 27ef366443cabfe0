/** A server with a few reports, and its exports over a real socket. */
import { afterAll, beforeAll, expect } from 'vitest'
import type { Store } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

export interface Line {
  readonly cursor: string
  readonly revision: string
  readonly [column: string]: unknown
}

export interface Exports {
  server(): RunningApp
  report(device: string, deployment: string, state: string, components: readonly object[]): Promise<void>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  text(path: string): Promise<string>
  /** Status, type, code and fields of the problem that the server answers. */
  problem(path: string, headers?: Record<string, string>): Promise<readonly unknown[]>
}

export const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** The span that a report of the device belongs to. */
export const parentOf = (device: string): string =>
  `00-${Buffer.from(device).toString('hex').padEnd(32, '1')}-${'2'.repeat(16)}-01`

export function useExports(store: Store): Exports {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
    for (const [index, state] of ['installing', 'failed', 'installing', 'installed'].entries())
      for (const device of ['edge-1', 'edge-2', '=edge'])
        await report(device, 'shop', state, [{ name: 'web', state: index === 1 ? 'failed' : 'installing' }])
  })
  afterAll(() => server.stop())

  async function report(device: string, deployment: string, state: string, components: readonly object[]) {
    const error = state === 'failed' ? { error: { code: '507', message: '=cmd|"calc"\n, and more' } } : {}
    const body = { deploymentId: deployment, status: { state, ...error }, components }
    const path = `/device/${encodeURIComponent(device)}/deployment/${deployment}/status`
    const answer = await server.post(path, body, device === 'edge-1' ? { traceparent: parentOf(device) } : {})
    expect(answer.status).toBeLessThan(300)
  }
  const get: Exports['get'] = (path, headers = {}) => fetch(`${server.url}${path}`, { headers })
  return {
    server: () => server,
    report,
    get,
    text: async (path) => (await get(path)).text(),
    async problem(path, headers) {
      const answer = await get(path, headers)
      const { code, errors } = (await answer.json()) as { code: string; errors: { field: string }[] }
      return [answer.status, answer.headers.get('content-type'), code, errors.map(({ field }) => field)]
    },
  }
}
