import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

const path = '/device/edge-1/deployment/d-1/status'
const good = { deploymentId: 'd-1', status: { state: 'installed' }, components: [] }
const margo = 'https://docs.margo.org/specification/problem-types'
const json = 'application/json'

interface Case {
  readonly title: string
  readonly path?: string
  readonly method?: string
  readonly body?: string
  readonly type?: string
  readonly status: number
  readonly problem: string
  readonly fields?: readonly string[]
}

const cases: readonly Case[] = [
  { title: 'no JSON', body: '{"deploymentId"', status: 400, problem: `${margo}#invalid-request` },
  { title: 'nothing', body: '', status: 400, problem: `${margo}#invalid-request` },
  { title: 'a list', body: '[]', status: 400, problem: `${margo}#invalid-request` },
  { title: 'another media type', type: 'text/plain', status: 415, problem: 'about:blank' },
  { title: 'a form', type: 'application/x-www-form-urlencoded', status: 415, problem: 'about:blank' },
  {
    title: 'too much',
    body: JSON.stringify({ ...good, padding: 'x'.repeat(2 << 20) }),
    status: 413,
    problem: 'about:blank',
  },
  {
    title: 'many wrong fields',
    body: JSON.stringify({
      kind: 'Pod',
      deploymentId: 'other',
      deviceId: 'a//b',
      status: { state: 'running', error: 'boom' },
      components: [{ name: '', state: 'installed' }, { name: 'a' }],
    }),
    status: 422,
    problem: `${margo}#semantic-error`,
    fields: [
      'kind',
      'deploymentId',
      'deviceId',
      'status.state',
      'status.error',
      'components[0].name',
      'components[1].state',
    ],
  },
  {
    title: 'a version that is none',
    path: '/api/v1/deployments/d-1/status',
    body: JSON.stringify({ ...good, adoptedManifestVersion: -1 }),
    status: 422,
    problem: `${margo}#semantic-error`,
    fields: ['adoptedManifestVersion'],
  },
  {
    title: 'an id that cannot be decoded',
    path: '/device/%ff/deployment/d-1/status',
    status: 422,
    problem: `${margo}#semantic-error`,
    fields: ['deviceId'],
  },
  { title: 'another method', method: 'PUT', status: 405, problem: 'about:blank' },
  { title: 'nowhere', path: '/device/edge-1/status', status: 404, problem: 'about:blank' },
  { title: 'a key of every object', path: '/constructor', status: 404, problem: 'about:blank' },
]

describe('a refusal', () => {
  it.each(cases)('of $title is a problem of status $status', async (refused) => {
    const response = await fetch(`${server.url}${refused.path ?? path}`, {
      method: refused.method ?? 'POST',
      headers: { 'content-type': refused.type ?? json },
      body: refused.body ?? JSON.stringify(good),
    })
    expect(response.status).toBe(refused.status)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('x-request-id')).toBeTruthy()
    const problem = (await response.json()) as Record<string, unknown> & {
      errors: { field: string; message: string }[]
    }
    expect(problem).toMatchObject({
      type: refused.problem,
      title: expect.stringMatching(/\w/),
      status: refused.status,
      retryable: false,
      error: problem.detail,
    })
    expect(problem.error).toMatch(/^[^\n]{10,600}$/)
    const named = problem.errors.map(({ field }) => field).filter((field) => field !== '' && field !== 'Content-Type')
    expect(named.toSorted()).toEqual((refused.fields ?? []).toSorted())
    for (const { field } of problem.errors) if (refused.fields?.includes(field)) expect(problem.error).toBeTruthy()
  })

  it('of a method says which there are', async () => {
    expect((await fetch(`${server.url}${path}`)).headers.get('allow')).toBe('POST, OPTIONS')
    const allow = (await fetch(`${server.url}/healthz`, { method: 'DELETE' })).headers.get('allow') ?? ''
    expect(allow.split(', ')).toContain('GET')
  })

  it('stores nothing', async () => {
    expect(await server.query('{ deploymentCounts { total } devices { totalCount } }')).toEqual({
      deploymentCounts: { total: 0 },
      devices: { totalCount: 0 },
    })
  })

  it('of a revoked device is final', async () => {
    const { registerDevices } = await server.query(
      `mutation { registerDevices(input: { devices: [{ deviceId: "lost" }] }) { __typename } }`,
    )
    expect(registerDevices.__typename).toBe('RegisterDevicesSuccess')
    await server.query(`mutation { revokeDevice(input: { deviceId: "lost" }) { __typename } }`)
    const response = await server.post('/device/lost/deployment/d-1/status', good)
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ type: `${margo}#not-authorized`, retryable: false })
  })
})
