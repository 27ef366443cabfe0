/** Each route that takes a body says what is wrong with it: the field by name, and what it must be. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const routes: readonly (readonly [string, string])[] = [
  ['POST', '/device/edge-1/deployment/hello/status'],
  ['POST', '/api/v1/deployments/hello/status'],
  ['POST', '/reports'],
  ['POST', `${group}/actions`],
  ['POST', `${group}/instances/4242/resources`],
  ['PUT', `${group}/resource-bundle-states/provider+cluster`],
  ['PUT', '/v2/cluster-providers/provider/clusters/cluster/connectivity'],
  ['PUT', '/v1/instance/i-1'],
  ['PUT', '/v1/instance/i-1/status'],
  ['POST', '/v1/instance/i-1/status/subscription'],
  ['POST', '/api/cnf-adapter/v1/aai-update'],
  ['POST', '/api/cnf-adapter/v1/aai-delete'],
  ['POST', '/api/v1/onboarding'],
  ['PUT', '/api/v1/capabilities/edge-1'],
  ['POST', '/session'],
]

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
  const request = { 'rb-name': 'b', 'rb-version': 'v1', 'profile-name': 'p', 'cloud-region': 'r' }
  const body = JSON.stringify({ request })
  await fetch(`${server.url}/v1/instance/i-1`, { method: 'PUT', headers: { 'content-type': 'application/json' }, body })
  for (const step of [{ State: 'Created' }, { State: 'Approved' }, { State: 'Instantiated', ContextId: '4242' }])
    expect((await server.post(`${group}/actions`, step)).status).toBe(201)
})
afterAll(() => server.stop())

interface Problem {
  readonly detail: string
  readonly errors: readonly { readonly field: string; readonly message: string }[]
}

async function send(method: string, path: string, body: string, type = 'application/json') {
  const answer = await fetch(`${server.url}${path}`, { method, headers: { 'content-type': type }, body })
  return { status: answer.status, problem: (await answer.json()) as Problem }
}

describe.each(routes)('%s %s', (method, path) => {
  it.each(['', '{', '{}', '7', 'null', '[7]'])('refuses the body %j by name', async (body) => {
    // A backlog may be a list, and answers each of its items.
    if (path === '/reports' && body === '[7]') return
    const { status, problem } = await send(method, path, body)
    expect([400, 422]).toContain(status)
    expect(problem.detail).toMatch(/\w{2,}.*\w{2,}/)
    expect(problem.detail).not.toMatch(/undefined|refused: {2}|must be a list, but is a list/)
    if (status === 422) expect(problem.errors).not.toEqual([])
    for (const { field, message } of problem.errors) {
      expect(field).not.toBe('')
      expect(message).not.toBe('')
    }
  })

  it('names the types that it accepts', async () => {
    const { status, problem } = await send(method, path, 'x', 'text/html')
    expect(status).toBe(415)
    expect(problem.errors).toEqual([
      { field: 'Content-Type', message: expect.stringContaining('send application/json') },
    ])
  })
})

it('names what an entry of a ResourceBundleState lacks', async () => {
  const labels = { 'emco/deployment-id': '4242-app' }
  const status = { podStatuses: [{}, 7] }
  const body = JSON.stringify({ kind: 'ResourceBundleState', metadata: { labels }, status })
  const { problem } = await send('PUT', `${group}/resource-bundle-states/provider+cluster`, body)
  expect(problem.errors).toEqual([
    { field: 'status.podStatuses[0]', message: 'must be an object with metadata.name, but has no valid one' },
    { field: 'status.podStatuses[1]', message: 'must be an object with metadata.name, but is 7' },
  ])
})
