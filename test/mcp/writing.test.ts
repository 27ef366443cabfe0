/** The tools that write: who is offered them, what a preview shows, and what the audit log says. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ToolContext } from '../../src/api/mcp/tool.ts'
import { select } from '../../src/api/mcp/tools/selection.ts'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { call, connect, http, type Way } from './harness.ts'

const adminKey = 'an-admin-key-for-tests-only'
const names = ['acknowledge_alert', 'retire_devices', 'plan_maintenance', 'declare_deployments']
const env = { API_AUTH: 'key', API_ADMIN_KEY: adminKey }

let server: RunningApp
beforeAll(async () => {
  server = await startApp({ env: { ...env, MCP_WRITE: 'true' }, timeouts: { ...defaultTimeouts, duties: 200 } })
})
afterAll(() => server.stop())

// biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
const query = async (document: string, variables: object = {}, of = server): Promise<any> => {
  const answer = await of.post('/graphql', { query: document, variables }, { authorization: `Bearer ${adminKey}` })
  return ((await answer.json()) as { data: unknown }).data
}
const makeKey = async (role: string, of = server): Promise<string> => {
  const made =
    'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } } }'
  return (await query(made, { input: { name: `an ${role}`, roles: [role] } }, of)).createApiKey.key
}
const written = async (client: Client) => (await client.listTools()).tools.filter(({ name }) => names.includes(name))

const both: readonly Way[] = [http, { over: 'stdio', era: '2025-11-25' }]

describe('tools that write', () => {
  it.each(both)('are offered over $over only to callers that may, where MCP_WRITE is on', async (way) => {
    const own = { MCP_WRITE: 'true' }
    const operator = await connect(server, way, await makeKey('OPERATOR'), own)
    const tools = await written(operator)
    expect(tools.map(({ name }) => name)).toEqual(names)
    expect(
      tools.map(({ annotations }) => [
        annotations?.readOnlyHint,
        annotations?.destructiveHint,
        annotations?.idempotentHint,
      ]),
    ).toEqual([
      [false, false, true],
      [false, true, true],
      [false, false, false],
      [false, false, true],
    ])
    const others = (await operator.listTools()).tools.filter(({ name }) => !names.includes(name))
    expect(
      others.every(({ annotations }) => annotations?.readOnlyHint === true && annotations.destructiveHint === false),
    ).toBe(true)
    const viewer = await connect(server, way, await makeKey('VIEWER'), own)
    expect(await written(viewer)).toEqual([])
    await expect(call(viewer, 'retire_devices', { devices: ['a'], reason: 'r' })).rejects.toThrow('not found')
    await Promise.all([operator.close(), viewer.close()])
  })

  it('are not offered where MCP_WRITE is off', async () => {
    const reading = await startApp({ env })
    const key = await makeKey('ADMIN', reading)
    for (const way of both) {
      const client = await connect(reading, way, key)
      expect(await written(client)).toEqual([])
      await client.close()
    }
    await reading.stop()
  })

  it.each(both)('show over $over what they would do, and do exactly that with its word', async (way) => {
    const client = await connect(server, way, await makeKey('OPERATOR'), { MCP_WRITE: 'true' })
    const id = `pump-${way.over}`
    const declaring = {
      rollout: `r-${way.over}`,
      reason: `planned by ${way.over}`,
      deployments: [{ deploymentId: id, deviceId: `device-${way.over}` }],
    }
    const preview = await call(client, 'declare_deployments', declaring)
    expect(preview.facts).toMatchObject({
      done: false,
      effect: { deployments: 1, withKnownIds: 0, isNewRollout: true },
    })
    const exists = async () =>
      (
        await query('query ($ids: [String!]) { deploymentCounts(filter: { deploymentIds: $ids }) { total } }', {
          ids: [id],
        })
      ).deploymentCounts.total
    expect(await exists()).toBe(0)
    const { confirm } = preview.facts
    const otherwise = { ...declaring, reason: 'another reason' }
    for (const wrong of [
      { ...declaring, confirm: 'guessed' },
      { ...otherwise, confirm },
    ])
      expect((await call(client, 'declare_deployments', wrong)).facts.done).toBe(false)
    expect(await exists()).toBe(0)
    expect((await call(client, 'declare_deployments', { ...declaring, confirm })).facts).toMatchObject({
      done: true,
      confirm: null,
    })
    expect(await exists()).toBe(1)
    // It is no new rollout now: the word confirms another effect.
    const again = await call(client, 'declare_deployments', { ...declaring, confirm })
    expect(again.facts).toMatchObject({ done: false, effect: { withKnownIds: 1, isNewRollout: false } })
    expect(again.text).toContain('confirms another effect')
    await audited('declareDeployments', declaring.reason)

    const planning = {
      devices: [`device-${way.over}`],
      to: new Date(Date.now() + 3_600_000).toISOString(),
      reason: `a fan of ${way.over}`,
    }
    await confirmed(client, 'plan_maintenance', planning, { devices: 1, notFound: 0 })
    await audited('planMaintenance', planning.reason)
    const retiring = { devices: [`device-${way.over}`], reason: `scrapped by ${way.over}` }
    await confirmed(client, 'retire_devices', retiring, { devices: 1, deployments: 1 })
    await audited('retireDevices', retiring.reason)
    expect(
      (
        await query('query ($id: String!) { device(deviceId: $id) { retirement { reason } } }', {
          id: `device-${way.over}`,
        })
      ).device.retirement.reason,
    ).toBe(retiring.reason)
    const { facts } = await call(client, 'device', { device: `device-${way.over}` })
    expect(facts).toMatchObject({ retirement: { reason: { untrusted: retiring.reason } }, maintenance: null })
    expect((await call(client, 'plan_maintenance', { to: planning.to, reason: 'all of them' })).text).toContain(
      'give devices, labels or clusters',
    )
    expect((await call(client, 'retire_devices', { devices: ['a'], reason: ' ' })).isError).toBe(true)
    await client.close()
  })

  it('plan maintenance of what the preview names, and of no other', async () => {
    const register = async (...lines: readonly (readonly [deviceId: string, ...labels: string[]])[]) =>
      query('mutation ($input: RegisterDevicesInput!) { registerDevices(input: $input) { __typename } }', {
        input: {
          devices: lines.map(([deviceId, ...labels]) => ({
            ...{ deviceId, labels: labels.map((label) => ({ key: label.split('=')[0], value: label.split('=')[1] })) },
          })),
        },
      })
    await register(['m-1', 'site=munich', 'line=3'], ['m-2', 'site=munich', 'line=4'], ['l-1', 'site=lyon', 'line=3'])
    await query('mutation { reportConnectivity(input: { cluster: "p+m-9", connectivity: ONLINE }) { __typename } }')
    const client = await connect(server, http, await makeKey('OPERATOR'))
    const labels = [
      { key: 'site', value: 'munich' },
      { key: 'line', value: '3' },
    ]
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const plan = { labels, clusters: ['m-9', 'm-1'], to: soon, reason: 'a new roof' }
    const named = (kind: string, name: string) => ({ kind, name: { untrusted: name } })
    const first = await call(client, 'plan_maintenance', plan)
    expect(first.facts).toMatchObject({
      done: false,
      effect: { devices: 1, clusters: 1, notFound: 1, coversLaterDevices: true },
      covers: [named('CLUSTER', 'p+m-9'), named('DEVICE', 'm-1')],
    })
    expect(first.text).toContain('\nDEVICE ⟦m-1⟧\n')
    await register(['m-3', 'site=munich', 'line=3'])
    const second = await call(client, 'plan_maintenance', { ...plan, confirm: first.facts.confirm, limit: 1 })
    expect(second.facts).toMatchObject({ done: false, effect: { devices: 2 }, omitted: [{ what: 'covers', count: 2 }] })
    const third = await call(client, 'plan_maintenance', { ...plan, confirm: second.facts.confirm })
    expect(third.facts).toMatchObject({ done: true, covers: [{}, named('DEVICE', 'm-1'), named('DEVICE', 'm-3')] })
    const inside = async () => {
      const { devices, clusters } = await query(
        '{ devices(filter: { inMaintenance: true, text: "-" }) { nodes { deviceId } } clusters(filter: { inMaintenance: true }) { nodes { name } } }',
      )
      expect([devices.nodes, clusters.nodes]).toEqual([[{ deviceId: 'm-1' }, { deviceId: 'm-3' }], [{ name: 'm-9' }]])
    }
    await vi.waitFor(inside, { timeout: 60_000 })
    const device = await call(client, 'device', { device: 'm-1' })
    expect(device.facts.maintenance).toEqual({ reason: { untrusted: 'a new roof' }, until: soon })
    expect(device.text).toContain(`In maintenance until ${soon}: ⟦a new roof⟧`)
    const given = await call(client, 'plan_maintenance', { ...plan, labels: undefined, devices: ['m-2', 'm-99'] })
    expect(given.facts.effect).toMatchObject({ devices: 1, notFound: 2, coversLaterDevices: false })
    await client.close()
  })

  it('plan for no more than a thousand devices', async () => {
    const asking = { ask: async () => ({ revision: '1', devices: { totalCount: 1_001, nodes: [] } }) }
    const selected = select({ asking } as unknown as ToolContext, { labels: [{ key: 'site', value: 'all' }] })
    await expect(selected).rejects.toThrow('1001 devices and 0 clusters; at most 1000 and 100')
  })

  it('acknowledge an alert', async () => {
    await query('mutation { saveAlertRule(input: { name: "too many", metric: FAILED, threshold: 1 }) { __typename } }')
    const failed = { deploymentId: 'broken', status: { state: 'failed' }, components: [] }
    await server.post('/device/edge/deployment/broken/status', failed)
    const client = await connect(server, http, await makeKey('OPERATOR'))
    const firing = async () => {
      const [alert] = (await call(client, 'what_is_wrong')).facts.alerts
      expect(alert).toBeDefined()
      return alert
    }
    const { id } = await vi.waitFor(firing, { timeout: 60_000 })
    await confirmed(
      client,
      'acknowledge_alert',
      { alert: id, reason: 'seen it' },
      { state: 'FIRING', isAcknowledgedAlready: false },
    )
    await audited('acknowledgeAlert', 'seen it')
    expect((await firing()).acknowledgedBy).toEqual({ untrusted: 'an OPERATOR' })
    expect((await call(client, 'acknowledge_alert', { alert: 'nothing', reason: 'r' })).isError).toBe(true)
    await client.close()
  })
})

async function confirmed(client: Client, tool: string, given: Record<string, unknown>, effect: object): Promise<void> {
  const { facts } = await call(client, tool, given)
  expect(facts).toMatchObject({ done: false, effect })
  expect((await call(client, tool, { ...given, confirm: facts.confirm })).facts).toMatchObject({ done: true, effect })
}

/** The newest entry of the mutation has the caller and the reason. */
async function audited(action: string, reason: string): Promise<void> {
  const { auditLog } = await query('{ auditLog(first: 100) { nodes { action caller outcome detail } } }')
  const [entry] = auditLog.nodes.filter((one: { action: string }) => one.action === action)
  expect(entry).toMatchObject({ caller: 'an OPERATOR' })
  expect(JSON.stringify(entry.detail)).toContain(reason)
}
