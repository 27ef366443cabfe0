/** The fleet at the broker: retained present and changes, through restarts and losses of the broker, on both stores. */
import { randomUUID } from 'node:crypto'
import { connectAsync } from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { channelOf, expectDescribed } from '../support/asyncapi.ts'
import { bodyOf } from '../support/clients/mqtt-device.ts'
import { lastingStores } from '../support/databases/lasting-stores.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { findMosquitto, type Mosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null

interface Observer {
  /** Payloads by topic, without those that were withdrawn. */
  readonly retained: Map<string, string>
  /** Every topic that was seen. */
  readonly topics: Set<string>
  readonly changes: { readonly revision: number; readonly kind: string; readonly topic: string }[]
  close(): Promise<void>
}

async function observe(url: string): Promise<Observer> {
  const [retained, topics] = [new Map<string, string>(), new Set<string>()]
  const changes: Observer['changes'] = []
  const client = await connectAsync(url, {
    protocolVersion: 5,
    clientId: `observer-${randomUUID()}`,
    reconnectPeriod: 20,
  })
  client.on('error', () => {})
  client.on('message', (topic, payload, { properties }) => {
    topics.add(topic)
    const headers = properties?.userProperties ?? {}
    const { revision = '', kind = '' } = headers
    const channel = channelOf(topic)
    const message = channel === 'change' ? topic.slice('rollcall/changes/'.length) : channel
    if (payload.length > 0 && !['report', 'connection'].includes(channel))
      expectDescribed(channel, message, { payload: JSON.parse(payload.toString()), headers: { ...headers } })
    if (topic.startsWith('rollcall/changes/')) changes.push({ revision: Number(revision), kind: String(kind), topic })
    else if (payload.length === 0) retained.delete(topic)
    else retained.set(topic, payload.toString())
  })
  await client.subscribeAsync('rollcall/#', { qos: 1 })
  return { retained, topics, changes, close: () => client.endAsync(true) }
}

/** The states of the retained deployments, by ID. */
function statesOf({ retained }: Observer): Record<string, string> {
  const deployments = [...retained].filter(([topic]) => topic.startsWith('rollcall/present/deployments/'))
  return Object.fromEntries(deployments.map(([, text]) => [JSON.parse(text).deploymentId, JSON.parse(text).state]))
}

const numbers = (observer: Observer): number[] => [...new Set(observer.changes.map(({ revision }) => revision))]

describe.skipIf(isMissing).each(stores)('the fleet at the broker, on $name', (store) => {
  let broker: Mosquitto
  let server: RunningApp
  beforeAll(async () => {
    broker = await startMosquitto({ isPersistent: true })
    server = await startApp({ store, env: { MQTT_URL: broker.url, MQTT_PUBLISH: 'all' } })
  })
  afterAll(async () => {
    await server?.stop()
    await broker?.dispose()
  })

  const report = async (deploymentId: string, state: string, device = 'edge-1'): Promise<void> => {
    const response = await server.post(
      `/device/${device}/deployment/${encodeURIComponent(deploymentId)}/status`,
      bodyOf(deploymentId, state),
    )
    expect(response.status).toBe(201)
  }
  const head = async (): Promise<number> => Number((await server.query('{ revision }')).revision)
  /** Resolves when the broker has everything up to the present. */
  const published = async (observer: Observer): Promise<void> => {
    const now = await head()
    const reached = (): number =>
      Number(JSON.parse(observer.retained.get('rollcall/present/revision') ?? '{}').revision)
    await expect.poll(reached).toBeGreaterThanOrEqual(now)
  }

  it('has the present state of each deployment and rollout, and each change with its revision', async () => {
    const observer = await observe(broker.url)
    await published(observer)
    const before = await head()
    await report('a', 'installing')
    await report('b/c', 'installed')
    await report('a', 'failed')
    await published(observer)
    expect(statesOf(observer)).toEqual({ a: 'FAILED', 'b/c': 'INSTALLED' })
    const [topic = '', text = ''] = [...observer.retained].find(([at]) => at.includes('/b%2Fc/')) ?? []
    expect(topic).toMatch(/^rollcall\/present\/deployments\/b%2Fc\/\w+$/)
    const { deployment } = await server.query('{ deployment(deploymentId: "b/c") { id } }')
    expect(JSON.parse(text)).toMatchObject({ id: deployment.id, target: { kind: 'DEVICE', name: 'edge-1' } })
    expect(topic.endsWith(`/${deployment.id}`)).toBe(true)
    const rollouts = [...observer.retained].filter(([at]) => at.startsWith('rollcall/present/rollouts/'))
    expect(rollouts.map(([, each]) => JSON.parse(each))).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'a', counts: expect.objectContaining({ total: 1, failed: 1 }) }),
      ]),
    )
    await report('r\u202e', 'installing')
    await published(observer)
    const [hidden = '', shown = ''] = [...observer.retained].find(([at]) => at.includes('/deployments/r')) ?? []
    expect(hidden + shown).not.toContain('\u202e')
    expect(JSON.parse(shown)).toMatchObject({ deploymentId: 'r\u202e' })
    await report('r\u202e', 'removed')
    await published(observer)
    const now = await head()
    expect(numbers(observer)).toEqual(Array.from({ length: now - before }, (_, index) => before + 1 + index))
    expect(observer.changes[0]).toMatchObject({
      topic: 'rollcall/changes/deployment-state-changed',
      kind: 'DEPLOYMENT_STATE_CHANGED',
    })

    await report('a', 'removed')
    await published(observer)
    expect(statesOf(observer)).toEqual({ 'b/c': 'INSTALLED' })
    await observer.close()
  })

  it('is complete after the broker was killed and has restored an older state', async () => {
    const observer = await observe(broker.url)
    await report('kept', 'installing')
    await report('gone', 'installed')
    await published(observer)
    await broker.save()
    await report('kept', 'installed')
    await report('gone', 'removed')
    await published(observer)
    const before = await head()
    await broker.stop('SIGKILL')
    await report('new', 'installed')
    await broker.start()
    await published(observer)
    const late = await observe(broker.url)
    await expect.poll(() => statesOf(late)).toEqual({ 'b/c': 'INSTALLED', kept: 'INSTALLED', new: 'INSTALLED' })
    const now = await head()
    for (let revision = before + 1; revision <= now; revision += 1) expect(numbers(observer)).toContain(revision)
    await Promise.all([observer.close(), late.close()])
  })
})

describe.skipIf(isMissing).each(lastingStores)('what is published, on $name', (store) => {
  it('is brought up to date after the server was stopped, and after the broker has lost everything', async () => {
    const broker = await startMosquitto()
    const { on } = await store.create()
    const publishing = { MQTT_URL: broker.url, MQTT_PUBLISH: 'all' }
    const reportTo = (server: RunningApp, deploymentId: string): Promise<Response> =>
      server.post(`/device/edge-1/deployment/${deploymentId}/status`, bodyOf(deploymentId, 'installed'))
    const observer = await observe(broker.url)
    const first = await startApp({ on, env: publishing })
    await reportTo(first, 'before')
    await expect.poll(() => statesOf(observer)).toEqual({ before: 'INSTALLED' })
    await first.stop()
    const silent = await startApp({ on, env: {} })
    await reportTo(silent, 'meanwhile')
    const revision = Number((await silent.query('{ revision }')).revision)
    await silent.stop()
    const server = await startApp({ on, env: publishing })
    const expected = { before: 'INSTALLED', meanwhile: 'INSTALLED' }
    await expect.poll(() => statesOf(observer)).toEqual(expected)
    await expect.poll(() => numbers(observer)).toContain(revision)
    await broker.stop()
    await broker.start()
    const late = await observe(broker.url)
    await expect.poll(() => statesOf(late)).toEqual(expected)
    await Promise.all([observer.close(), late.close(), server.stop()])
    await broker.dispose()
    await on.drop()
  })
})

describe.skipIf(isMissing)('a broker that refuses what the server asks to read back', () => {
  it('causes a warning in the log, and the server does not wait for it', async () => {
    const rules = ['user server', 'topic deny rollcall/present/read/#', 'topic readwrite rollcall/#']
    const broker = await startMosquitto({ rules })
    const server = await startApp({ env: { MQTT_URL: broker.url, MQTT_USER: 'server', MQTT_PUBLISH: 'all' } })
    const lines = () => server.logged.map(({ msg }) => msg)
    await expect.poll(lines).toContain('the fleet was not published by MQTT: trying again')
    await server.stop()
    await broker.dispose()
  })
})

describe.skipIf(isMissing).each(stores)('a part of the fleet at the broker, on $name', (store) => {
  it('shows nothing of the rest, not even a name, and follows labels that change', async () => {
    const broker = await startMosquitto()
    const server = await startApp({ store, env: { MQTT_URL: broker.url, MQTT_PUBLISH: 'label:site=berlin' } })
    const register = (deviceId: string, site: string): Promise<unknown> =>
      server.query('mutation ($input: RegisterDevicesInput!) { registerDevices(input: $input) { __typename } }', {
        input: { devices: [{ deviceId, labels: [{ key: 'site', value: site }] }] },
      })
    const report = (device: string, state: string): Promise<unknown> =>
      server.post(`/device/${device}/deployment/on-${device}/status`, bodyOf(`on-${device}`, state))
    await register('inside', 'berlin')
    await register('outside', 'munich')
    const observer = await observe(broker.url)
    // Published changes begin with the first round.
    await expect.poll(() => observer.retained.has('rollcall/present/revision')).toBe(true)
    for (const state of ['installing', 'failed', 'installed', 'removed', 'installing'])
      for (const device of ['outside', 'inside']) await report(device, state)
    await expect.poll(() => statesOf(observer)).toEqual({ 'on-inside': 'INSTALLING' })
    await expect.poll(() => observer.changes.length).toBeGreaterThanOrEqual(5)
    const seen = [...observer.topics, ...observer.retained.values()].join('\n')
    expect(seen).toContain('on-inside')
    expect(seen).not.toContain('outside')
    const ids = (await server.query('{ deployments { nodes { id deploymentId rollout { id } } } }')).deployments.nodes
    const hidden = ids.find(({ deploymentId }: { deploymentId: string }) => deploymentId === 'on-outside')
    expect(seen).not.toContain(hidden.id)
    expect(seen).not.toContain(hidden.rollout.id)
    // The label moves it out of the scope. The next connection compares everything.
    await register('inside', 'munich')
    await broker.stop()
    await broker.start()
    const late = await observe(broker.url)
    await expect.poll(() => late.retained.has('rollcall/present/revision')).toBe(true)
    expect(statesOf(late)).toEqual({})
    await Promise.all([observer.close(), late.close()])
    await server.stop()
    await broker.dispose()
  })
})
