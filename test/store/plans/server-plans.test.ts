/**
 * Every statement that a server sends for a batch, a subscriber, a sink or a second costs what it returns or writes, however young the database's
 * statistics are. The statements are those of a running server, so a new one is measured without being listed here.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFacetCounts } from '../../../src/ingest/duties/facet-counts.ts'
import { transports } from '../../graphql/clients.ts'
import { divideTables } from '../../support/databases/partitions.ts'
import { type EmptyStore, postgresStores } from '../../support/databases/stores.ts'
import {
  deployments,
  fill,
  type Measured,
  measuringAll,
  withoutStatistics,
} from '../../support/databases/young-database.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Receiver, startReceiver } from '../../support/systems/receiver.ts'

const key = 'an-admin-key-for-tests-only'
const label = '{ labels: [{ key: "site", value: "a" }] }'
const watched = [
  'subscription { deployment(deploymentId: "d-1") { cursor deployment { state components { name state } device { deviceId } rollout { name } } } }',
  'subscription { deploymentCounts { counts { total installed } } }',
  `subscription { deploymentCounts(filter: ${label}) { counts { total installed } } }`,
  'subscription { rollout(key: { name: "r-2" }) { rollout { name deploymentCounts { total } deployments(first: 3) { nodes { state } } } } }',
  'subscription { resourceCounts { counts { total } } }',
  'subscription { changes { cursor change { kind } } }',
  'subscription { changes(filter: { deploymentIds: ["d-1"] }) { cursor change { kind } } }',
]

const rules = [
  'name: "failed", metric: FAILED, threshold: 1, perRollout: true',
  'name: "still", metric: NO_PROGRESS, threshold: 3600',
  'name: "late", metric: TIME_LEFT, threshold: 3600, perRollout: true',
  'name: "one", metric: FAILED, threshold: 1, selector: { deploymentIds: ["d-1"] }',
]
/** Of a small rollout: it costs its own deployments, and not those of the fleet. */
const insight = `eta { at reason } timeTo(percent: 95) { at } earlier { name } durations { countedTo }
  diagnosis { examined problems { count causes { summary } } }
  rollout: outcomes(by: ROLLOUT) { since } version: outcomes(by: APPLICATION_VERSION) { since }
  component: outcomes(by: COMPONENT) { since } error: outcomes(by: ERROR) { since }`

/** What reads more than it returns: how much at most, and why. A scan of one of these tables touches some hundred pages. */
const exceptions: readonly { readonly text: RegExp; readonly most: number; readonly why: string }[] = [
  {
    text: /^select exists \(select from json_array_elements_text/,
    most: 600,
    why: 'a probe looks up the primary key of each of our tables in the catalog',
  },
  {
    text: /^select kind, provider, name from \(select \* from targets where kind = 'DEVICE' and connectivity <> 'OFFLINE'/,
    most: 700,
    why: 'one look at all devices every five seconds; an index on last_heard_at would make each heartbeat dearer',
  },
  {
    text: /"device_profiles"/,
    most: 2_000,
    why: 'a label that few targets have: each of the three tables is read once',
  },
  {
    text: /"deployment_checkpoints"/,
    most: 2_000,
    why: 'it reads the log since the last checkpoint, and this log has none',
  },
  {
    text: /with entries as materialized \(\s*select last_revision, rollout_key, from_rollout_key from change_log/,
    most: 2_000,
    why: 'checkpoints: the duty reads each entry of the log once, as many at a time as lie between two checkpoints',
  },
  {
    text: /with step as materialized \(select \* from deployments/,
    most: 10_000,
    why: 'facets: all deployments are counted once in the life of a database, 10,000 at a time',
  },
  {
    text: /from "rollouts" as own cross join lateral/,
    most: 3_000,
    why: 'a rollout of the same application may be any of the 500 before it: each takes five pages of an index',
  },
  {
    text: /^\s*select "rollouts"."key" from "rollouts" where "rollouts"."key" > \$1::bigint and rollouts.pending \+/,
    most: 1_000,
    why: 'a new rule looks once for all rollouts that have deployments',
  },
  {
    text: /delete from reports_\w+ where/,
    most: 500,
    why: 'without statistics the BRIN index on the time looks dearer than the table; the duty runs every 30 seconds',
  },
]

describe.each(postgresStores)('a server on a database without statistics, on $name', (store) => {
  const found: Measured[] = []
  let empty: EmptyStore
  let server: RunningApp
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
    empty = await store.create()
    const plain = await empty.open()
    await divideTables(plain, deployments / 2)
    await divideTables(plain, 2 * deployments)
    await withoutStatistics(plain.session)
    await fill(plain.session)
    await plain.close()
    // The server itself does it for larger fleets only.
    const measured = measuringAll(await empty.open(), empty.config.url ?? '', found)
    const isOver = () => found.filter(({ text }) => /insert into facet_checkpoints/.test(text)).length > 10
    await createFacetCounts(measured, { fewest: 0, mostFacets: deployments, spacing: 100 }).run({
      ...{ now: 0, listeningSince: 0, isOver },
    })
    await measured.close()
    const open = async () => measuringAll(await empty.open(), empty.config.url ?? '', found)
    server = await startApp({
      on: { ...empty, open },
      env: {
        API_AUTH: 'key',
        API_ADMIN_KEY: key,
        DEVICE_AUTH: 'token',
        SINK_ALLOW: '127.0.0.1',
        OFFLINE_AFTER: '3600',
        HISTORY_DAYS: '30',
        FORGET_REMOVED_DAYS: '7',
      },
    })
  })
  afterAll(async () => {
    await server.stop()
    await receiver.close()
    await empty.drop()
  })

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  async function ask(query: string) {
    const answer = await server.post('/graphql', { query }, bearer(key))
    const { data, errors } = (await answer.json()) as { data: never; errors?: object[] }
    expect(errors).toBeUndefined()
    return data
  }

  it('costs what it returns or writes', async () => {
    const tokens: string[] = []
    for (const n of [1, 2, deployments + 1]) {
      const { registerDevices } = await ask(
        `mutation { registerDevices(input: { devices: [{ deviceId: "edge-${n}", labels: [{ key: "site", value: "a" }] }] }) {
          ... on RegisterDevicesSuccess { results { token } } } }`,
      )
      tokens.push((registerDevices as { results: { token: string }[] }).results[0]?.token ?? '')
    }
    await ask(
      `mutation { createWebhook(input: { name: "w", url: "${receiver.url}/", filter: ${label} }) { __typename } }`,
    )
    for (const rule of rules)
      expect(await ask(`mutation { saveAlertRule(input: { ${rule} }) { __typename } }`)).toEqual({
        saveAlertRule: { __typename: 'SaveAlertRuleSuccess' },
      })
    const [socket] = transports
    const streams = watched.map((query) => socket?.watch(`${server.url}/graphql`, query, {}, key))
    const received = streams.map(() => 0)
    const failures: unknown[] = []
    const listening = streams.map(async (stream, index) => {
      for (let next = await stream?.next(); next; next = await stream?.next()) {
        if (next.errors) failures.push(next.errors)
        received[index] = (received[index] ?? 0) + 1
      }
    })
    for (const one of listening) one.catch(() => undefined)
    await expect.poll(() => received.slice(0, 5).every((count) => count > 0)).toBe(true)

    for (const state of ['installing', 'installed', 'installed', 'failed'])
      for (const [index, n] of [1, 2, deployments + 1].entries()) {
        const answer = await server.post(
          `/device/edge-${n}/deployment/d-${n}/status`,
          { deploymentId: `d-${n}`, status: { state }, components: [{ name: 'web', state }] },
          bearer(tokens[index] ?? ''),
        )
        expect(answer.ok).toBe(true)
      }
    await ask(
      'mutation { declareDeployments(input: { rollout: { name: "r-7" }, deployments: [{ deviceId: "edge-7", deploymentId: "d-7" }] }) { __typename } }',
    )
    for (const name of ['young-1', 'young-2']) {
      const own = [1, 2, deployments + 1].map(
        (n) => `{ deviceId: "edge-${n}", deploymentId: "${name}-${n}", application: "${name}" }`,
      )
      await ask(
        `mutation { declareDeployments(input: { rollout: { name: "${name}" }, deployments: [${own.join()}] }) { __typename } }`,
      )
      expect(await ask(`{ rollout(key: { name: "${name}" }) { ${insight} } }`)).toMatchObject({
        rollout: { diagnosis: { examined: 3 } },
      })
    }
    const isEvaluated = () =>
      found.some(({ text }) => text.includes('members as materialized') && text.includes('passages'))
    await expect.poll(isEvaluated).toBe(true)
    await receiver.until((all) => all.length >= 3)
    await expect.poll(() => received.every((count) => count > 0)).toBe(true)
    const duties = async () => (await (await fetch(`${server.url}/readyz?verbose`)).json()).duties
    await expect.poll(async () => (await duties()).length).toBeGreaterThan(4)
    for (const stream of streams) await stream?.close()
    await Promise.allSettled(listening)
    expect(failures).toEqual([])
    expect(server.logged.filter(({ level }) => Number(level) >= 50)).toEqual([])

    expect(new Set(found.map(({ text }) => text)).size).toBeGreaterThan(40)
    const isBounded = ({ buffers, rows, text }: Measured): boolean =>
      buffers <= (exceptions.find((one) => one.text.test(text))?.most ?? 150 + 50 * rows)
    const expensive = found.filter((one) => !isBounded(one))
    expect(expensive.toSorted((a, b) => b.buffers - a.buffers)).toEqual([])
  })
})
