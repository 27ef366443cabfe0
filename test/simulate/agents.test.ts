import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { type Order, planAgents, playOrders } from '../../src/apps/simulate/agents/plan.ts'
import { createRandom } from '../../src/apps/simulate/random.ts'
import { parseApplicationDeployment } from '../../src/ingest/dialects/margo/application-deployment.ts'
import { atOnce } from '../../src/platform/limits/pace.ts'
import { hasGit } from '../support/clients/git-client.ts'
import { type Store, stores } from '../support/databases/stores.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Passing, standBetween } from '../support/servers/between.ts'
import { type Findings, type Running, simulate } from './check/checked.ts'

const agents = planAgents({ agents: 20, seed: 7, run: 'test' })

const planned = (seed: number): Order[] => agents.flatMap((agent) => playOrders(agent, seed).take(12).toArray())

describe('the plan of what agents should run', () => {
  const orders = planned(7)
  const documents = orders.flatMap((order) => [...order.documents].map(([id, document]) => ({ id, document, order })))

  it('is the same for the same seed, and differs for another seed', () => {
    expect(planned(7)).toEqual(orders)
    expect(planned(8)).not.toEqual(orders)
  })

  it('contains every kind of event', () => {
    expect(agents.filter(({ isKeptBack }) => isKeptBack)).not.toEqual([])
    expect(agents.filter(({ fetches }) => fetches === 'repositories')).not.toEqual([])
    expect(documents.some(({ document }) => document === null)).toBe(true)
    expect(documents.some(({ document }) => document?.includes('-broken'))).toBe(true)
    expect(documents.some(({ document }) => document?.startsWith('{'))).toBe(true)
    const [first] = orders
    expect([...(first?.documents.values() ?? [])].some((document) => document === null)).toBe(false)
  })

  it('changes something with each order, because each becomes a version', () => {
    for (const agent of agents) {
      const wanted = new Map<string, string | null>()
      for (const { documents: changed } of playOrders(agent, 7).take(30))
        for (const [id, document] of changed) {
          expect(wanted.get(id) ?? null).not.toBe(document)
          wanted.set(id, document)
        }
    }
  })

  it('is parsed to what was planned', () => {
    for (const { id, document, order } of documents) {
      if (document === null) continue
      const expected = { deploymentId: id, deviceId: order.agent.deviceId }
      const { components } = parse(document).spec.deploymentProfile
      expect(atOnce(parseApplicationDeployment(document))(expected)).toMatchObject({
        problems: null,
        components: components.map(({ name }: { name: string }) => name),
      })
    }
  })
})

let runs = 0

async function start(store: Store | undefined): Promise<RunningApp> {
  const server = await startApp({ store, env: { GIT: 'git' } })
  onTestFinished(() => server.stop())
  return server
}

async function play(
  url: string,
  isEnough: (running: Running) => boolean,
): Promise<{ findings: Findings; running: Running }> {
  const stop = new AbortController()
  let running: Running | undefined
  let timer: NodeJS.Timeout | undefined
  runs += 1
  const size = { devices: 1, rollouts: 1, clusters: 0, agents: 5, seed: 7, run: `agents-${runs}` }
  const findings = await simulate({ url, ...size, speed: 40, duration: null }, stop.signal, (begun) => {
    running = begun
    timer = setInterval(() => {
      if (isEnough(begun) || begun.agents.ledger.differences.length > 0) stop.abort()
    }, 10)
  }).finally(() => clearInterval(timer))
  return { findings, running: running ?? expect.unreachable() }
}

it.each(stores)(
  'agents come to run what is wanted on $name, but for those that cannot and those that are kept back',
  async (store) => {
    const { findings, running } = await play((await start(store)).url, hasLived)
    expect(findings.differences).toEqual([])
    expect(findings.agents).toMatchObject({ agents: 5, uncertain: 0 })
    expect(findings.agents.convergence.CONVERGED).toBeGreaterThan(0)
    expect(findings.agents.convergence.STALE).toBeGreaterThan(0)
    expect(running.agents.pulling).toBe(hasGit ? 1 : 0)
  },
)

describe('agents', () => {
  async function meddle(server: RunningApp, what: (passing: Passing) => Promise<boolean>): Promise<string> {
    const between = await standBetween(server.url, what)
    onTestFinished(() => between.close())
    return between.url
  }

  it.runIf(isWhole)('retry when the server answers "not now" or loses an answer', async () => {
    const random = createRandom('faults')
    let faults = 0
    const url = await meddle(await start(stores.at(-1)), async ({ path, pass, answer, cut }) => {
      const fate = path.startsWith('/api/v1/clients/') ? random.index(15) : 15
      if (fate === 0) answer(503, '{}', { 'retry-after': '0' })
      if (fate === 1) await pass()
      if (fate === 1) cut()
      faults += fate <= 1 ? 1 : 0
      return fate <= 1
    })
    const { findings } = await play(url, ({ agents: { ledger } }) => ledger.counts.reports > 60)
    expect(findings.differences).toEqual([])
    expect(findings.agents.uncertain).toBe(0)
    expect(faults).toBeGreaterThan(0)
  })

  const liars: readonly [string, RegExp, (passing: Passing) => Promise<boolean>][] = [
    [
      'gives a document that is another',
      /the document of .* does not match its digest/,
      async ({ path, pass, answer }) => {
        if (!/\/deployments\/[^/]+\/sha256:/.test(path)) return false
        const { status, body } = await pass()
        answer(status, body.replace('revision: 1', 'revision: 9'), { 'content-type': 'application/yaml' })
        return true
      },
    ],
    [
      'tells a manifest under another ETag',
      /the manifest's ETag is "sha256:0+", which is not the digest of its bytes/,
      async ({ path, pass, answer }) => {
        if (!/^\/api\/v1\/clients\/[^/]+\/deployments$/.test(path)) return false
        const { status, body } = await pass()
        answer(status, body, { etag: `"sha256:${'0'.repeat(64)}"` })
        return true
      },
    ],
    [
      'has lost what it has acknowledged',
      /its convergence is APPLYING, but should be CONVERGED/,
      async ({ path, body, answer }) => {
        if (!path.startsWith('/api/v1/clients/agent') || !body.includes('"state":"installed"')) return false
        answer(201, JSON.stringify({ verdict: 'APPLIED', revision: '1' }))
        return true
      },
    ],
  ]
  it.each(casesOf(1, liars))('notice a server that %s', async (_, complaint, what) => {
    const { findings } = await play(await meddle(await start(stores.at(-1)), what), hasLived)
    expect(findings.differences.join('\n')).toMatch(complaint)
  })
})

/** Each agent got a second order and applied something; kept-back agents lag behind, and some polls found nothing new. */
function hasLived({ agents: { ledger } }: Running): boolean {
  const accounts = [...ledger.accounts.values()]
  if (ledger.counts.polls === ledger.counts.fetched) return false
  return accounts.every(
    ({ agent, version, wanted, applied }) =>
      version > 3 &&
      applied.size > 0 &&
      (!agent.isKeptBack || [...applied].some(([id, done]) => done.version < (wanted.get(id)?.version ?? 0))),
  )
}
