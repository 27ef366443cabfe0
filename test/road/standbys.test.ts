/** Servers that read standbys: no caller gets an answer older than what it was shown, and every answer is the primary's. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { transports } from '../graphql/clients.ts'
import { findPostgres } from '../support/databases/postgres-server.ts'
import { type Pair, pause, resume, startPair, untilLevel, untilUsed } from '../support/databases/standby-pair.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const header = 'rollcall-revision'

const questions = [
  '{ revision deploymentCounts { total pending installing installed failed } }',
  '{ deployments(first: 5) { totalCount nodes { id deploymentId state changedAt components { name state } device { deviceId lastHeardAt } } } }',
  '{ devices { nodes { deviceId connectivity deploymentCounts { total } } } }',
  '{ rollouts { nodes { id name deployments { totalCount } } } }',
  '{ changes(first: 50) { nodes { revision kind } pageInfo { hasNextPage } } }',
  '{ deployment(deploymentId: "d-1") { state history { totalCount } reports { nodes { verdict receivedAt } } } }',
  '{ deploymentGroups(by: TARGET) { nodes { counts { total } } } }',
  '{ deploymentCounts(asOf: "2100-01-01T00:00:00Z") { total revision } }',
  '{ audit { revision drift { scope } } }',
  '{ sinks { id name } }',
  '{ nothing }',
]

describe.skipIf(!findPostgres())('a server that reads a standby', () => {
  let pair: Pair
  let server: RunningApp
  let other: RunningApp
  /** Reads the primary only. */
  let plain: RunningApp
  let n = 0

  beforeAll(async () => {
    pair = await startPair()
    server = await start()
    other = await start()
    plain = await start([])
  })
  afterAll(async () => {
    for (const one of [server, other, plain]) await one.stop()
    await pair.dispose()
  })
  beforeEach(async () => {
    for (const standby of pair.standbys) await resume(standby)
    for (const one of [server, other]) await untilUsed(one.app.database)
  })

  function start(standbys = pair.standbys): Promise<RunningApp> {
    const config = { url: pair.primary.url, dataDir: 'memory' }
    const open = () => pair.openKept(standbys)
    return startApp({ on: { config, open, drop: async () => {} } })
  }

  /** A report that changes something; its revision. */
  async function change(to: RunningApp): Promise<number> {
    n += 1
    const answer = await to.post(`/device/edge-1/deployment/d-${n}/status`, {
      deploymentId: `d-${n}`,
      status: { state: 'installing' },
      components: [{ name: 'web', state: 'installing' }],
    })
    expect(answer.ok).toBe(true)
    return Number(((await answer.json()) as { revision: string }).revision)
  }

  async function ask(to: RunningApp, query: string, headers: Record<string, string> = {}) {
    const response = await to.post('/graphql', { query }, headers)
    const shown = response.headers.get(header)
    return { text: await response.text(), revision: shown === null ? null : Number(shown) }
  }

  const readsOf = (app: RunningApp): number => app.app.database.standbys?.states()[0]?.reads ?? 0

  it('gives the answers that the primary gives', async () => {
    for (let time = 0; time < 3; time += 1) await change(server)
    const before = readsOf(server)
    for (const question of questions) {
      const [read, expected] = [await ask(server, question), await ask(plain, question)]
      expect({ question, ...read }).toEqual({ question, ...expected })
    }
    expect(readsOf(server)).toBeGreaterThan(before)
  })

  it('names the revision of each answer: executed, by the fast path, from the cache, of a mutation', async () => {
    const question = '{ revision deploymentCounts { installing } }'
    for (let time = 0; time < 4; time += 1) {
      const acknowledged = await change(server)
      for (let again = 0; again < 4; again += 1) {
        const { text, revision } = await ask(server, question)
        expect(revision).toBe(Number(JSON.parse(text).data.revision))
        expect(revision).toBeGreaterThanOrEqual(acknowledged)
      }
    }
    const mutation = `mutation { retireDevices(input: { reason: "closed", devices: [{ deviceId: "edge-1" }] }) {
      ... on RetireDevicesSuccess { revision } } }`
    const { text, revision } = await ask(server, mutation)
    expect(revision).toBeGreaterThanOrEqual(Number(JSON.parse(text).data.retireDevices.revision))
    await ask(server, 'mutation { registerDevices(input: { devices: [{ deviceId: "edge-1" }] }) { __typename } }')
    expect((await ask(server, '{ __typename }')).revision).toBeNull()
  })

  it('includes what another server acknowledged, while the standby is behind', async () => {
    for (const standby of pair.standbys) await pause(standby)
    for (let time = 0; time < 6; time += 1) {
      const [writer, reader] = time % 2 ? [server, other] : [other, server]
      const acknowledged = await change(writer)
      const { text } = await ask(reader, `{ revision deployment(deploymentId: "d-${n}") { state } }`)
      expect(JSON.parse(text).data.deployment).toEqual({ state: 'INSTALLING' })
      expect(Number(JSON.parse(text).data.revision)).toBeGreaterThanOrEqual(acknowledged)
    }
  })

  it('reads an older standby for a client that says what it has seen, and never an older one than that', async () => {
    const known = await change(server)
    const seen = await ask(server, '{ deploymentCounts { total } }')
    expect(seen.revision).toBe(known)
    await untilLevel(server.app.database)
    for (const standby of pair.standbys) await pause(standby)
    const next = await change(other)
    const question = '{ revision rollouts { totalCount } }'
    const before = readsOf(server)
    expect((await ask(server, question, { [header]: String(known) })).revision).toBe(known)
    expect(readsOf(server)).toBe(before + 1)
    expect((await ask(server, question, { [header]: String(next) })).revision).toBe(next)
    // What is no revision is no permission.
    for (const wrong of ['', '-1', 'now', '1e3', `${known}, ${known}`])
      expect((await ask(server, question, { [header]: wrong })).revision).toBe(next)
  })

  it.each(transports)(
    'resumes a subscriber from elsewhere while the standby is behind, over $name',
    async ({ watch }) => {
      const question = 'subscription { deploymentCounts { cursor counts { total } } }'
      const stream = watch(`${server.url}/graphql`, question)
      let { cursor, counts } = (await stream.data()).deploymentCounts
      for (const standby of pair.standbys) await pause(standby)
      for (let time = 0; time < 3; time += 1) {
        const acknowledged = await change(other)
        let update = { cursor, counts }
        while (Number(update.cursor) < acknowledged) update = (await stream.data()).deploymentCounts
        expect(update.counts.total).toBe(counts.total + 1)
        ;({ cursor, counts } = update)
      }
      await stream.close()
      const resumed = watch(`${other.url}/graphql`, question)
      const first = (await resumed.data()).deploymentCounts
      expect(Number(first.cursor)).toBeGreaterThanOrEqual(Number(cursor))
      expect(first.counts).toEqual(counts)
      for (const standby of pair.standbys) await resume(standby)
      const acknowledged = await change(server)
      let update = first
      while (Number(update.cursor) < acknowledged) update = (await resumed.data()).deploymentCounts
      expect(update.counts.total).toBe(counts.total + 1)
      await resumed.close()
    },
  )

  it('fails no query when the standby is killed, and shows where it reads', async () => {
    const [standby] = pair.standbys
    let isOver = false
    let answers = 0
    const failures: string[] = []
    const asking = Array.from({ length: 8 }, async (_, index) => {
      while (!isOver) {
        // The response cache has no other answer to the same text.
        const { text } = await ask(server, `${questions[index]} # ${answers}`)
        if (text.includes('"errors"')) failures.push(text)
        answers += 1
      }
    })
    await expect.poll(() => answers).toBeGreaterThan(50)
    await standby?.stop('immediate')
    const then = answers
    await expect.poll(() => answers).toBeGreaterThan(then + 50)
    isOver = true
    await Promise.all(asking)
    expect(failures).toEqual([])
    const states = async () => (await (await fetch(`${server.url}/readyz?verbose`)).json()).standbys
    await expect.poll(states).toEqual([
      {
        number: 1,
        state: 'left out',
        problem: 'it cannot be reached',
        lag: expect.anything(),
        reads: readsOf(server),
      },
    ])
    expect(await metric('rollcall_standby_used{standby="1"}')).toBe(0)
    await standby?.start()
    await untilUsed(server.app.database)
    expect(await metric('rollcall_standby_used{standby="1"}')).toBe(1)
    expect(await metric('rollcall_reads_total{server="1"}')).toBeGreaterThan(0)
    expect(await metric('rollcall_reads_total{server="primary"}')).toBeGreaterThan(50)
    await expect.poll(() => metric('rollcall_standby_lag_revisions{standby="1"}')).toBe(0)
    const messages = () => server.logged.map(({ msg }) => msg)
    await expect.poll(messages).toContain('standby 1 is left out: it cannot be reached')
    await expect.poll(messages).toContain('standby 1 is used')
  })

  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    )
  }
})

describe.skipIf(!findPostgres())('a primary that is gone', () => {
  it('leaves the readers that say what they have seen their standby', async () => {
    const pair = await startPair()
    onTestFinished(() => pair.dispose())
    const config = { url: pair.primary.url, dataDir: 'memory' }
    const server = await startApp({ on: { config, open: () => pair.openKept(), drop: async () => {} } })
    onTestFinished(() => server.stop())
    await untilUsed(server.app.database)
    const question = { query: '{ revision deploymentCounts { total } }' }
    const first = await server.post('/graphql', question)
    const seen = first.headers.get(header) ?? ''
    await pair.primary.stop('immediate')
    const again = await server.post('/graphql', question, { [header]: seen })
    expect(await again.json()).toEqual(await first.json())
    const { errors } = (await (await server.post('/graphql', question)).json()) as { errors?: object[] }
    expect(errors).toMatchObject([{ extensions: { code: 'UNAVAILABLE' } }])
  })
})
