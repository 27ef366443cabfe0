import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf } from '../../src/apps/simulate/clusters/objects.ts'
import { planGroups } from '../../src/apps/simulate/clusters/plan.ts'
import {
  createClusterNetwork,
  type GroupFact,
  playConnectivity,
  playGroup,
} from '../../src/apps/simulate/clusters/script.ts'
import { createRandom } from '../../src/apps/simulate/random.ts'
import { parseResources } from '../../src/ingest/dialects/emco/feed.ts'
import { parseBundleState } from '../../src/ingest/dialects/kubernetes/bundle-state.ts'
import { atOnce } from '../../src/platform/limits/pace.ts'
import { stores } from '../support/databases/stores.ts'
import { casesOf, isWhole, someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Passing, standBetween } from '../support/servers/between.ts'
import { type Findings, type Running, simulate } from './check/checked.ts'

const hour = 3_600_000
const groups = planGroups({ clusters: 30, run: 'test' })

function planned(seed: number, until = hour): GroupFact[] {
  const network = createClusterNetwork(seed)
  return groups.flatMap((group) => {
    const plan = playGroup(group, seed, network)
    const facts: GroupFact[] = []
    for (let { value } = plan.next(); value.at <= until; { value } = plan.next()) facts.push(value)
    return facts
  })
}

const everything = planned(7)

describe('the plan of an orchestrator', () => {
  const stateSnapshots = everything.flatMap((fact) => (fact.of === 'objects' ? [fact.list] : []))
  const items = everything.flatMap((fact) => (fact.of === 'resources' ? fact.items : []))

  it('is the same for the same seed, and differs for another seed', () => {
    expect(planned(7, hour / 10)).toEqual(everything.filter(({ at }) => at <= hour / 10))
    expect(planned(8, hour / 10)).not.toEqual(planned(7, hour / 10))
  })

  it('is empty without clusters', () => {
    expect(planGroups({ clusters: 0, run: 'test' })).toEqual([])
  })

  it('contains every kind of event', () => {
    const actions = everything.flatMap((fact) => (fact.of === 'action' ? [fact.state] : []))
    expect([...new Set(actions)].toSorted()).toEqual(['Approved', 'Instantiated', 'Terminated', 'Updated'])
    expect([...new Set(items.map(({ sync }) => sync))].toSorted()).toEqual([
      'APPLIED',
      'DELETED',
      'FAILED',
      'PENDING',
      'RETRYING',
    ])
    const readiness = stateSnapshots.flatMap(({ objects }) => objects.map((object) => object.readiness))
    expect([...new Set(readiness)].toSorted()).toEqual(['FAILED', 'PENDING', 'READY'])
    expect(stateSnapshots.some(({ objects }) => objects.length === 0)).toBe(true)
    expect(new Set(stateSnapshots).size).toBeLessThan(stateSnapshots.length)
    const isOvertaken = stateSnapshots.some((list, index) =>
      stateSnapshots
        .slice(0, index)
        .some(
          (one) =>
            one.context === list.context &&
            one.cluster === list.cluster &&
            one.app === list.app &&
            one.version > list.version,
        ),
    )
    expect(isOvertaken).toBe(true)
    const [first] = groups
    const spells = first?.clusters.map((cluster) => playConnectivity(cluster, 7).take(3).toArray())
    expect(spells?.some((list) => list.some(({ isOnline }) => !isOnline))).toBe(true)
  })

  it('has no reports of a cluster that cannot be reached', () => {
    const network = createClusterNetwork(7)
    for (const fact of everything)
      if (fact.of === 'objects') expect(network.offlineUntil(fact.list.cluster, fact.at)).toBeNull()
  })

  it('is parsed to what was planned, on its routes', () => {
    const lists = [...new Set(stateSnapshots)]
    for (const list of lists.slice(0, someOf(300, lists.length))) {
      const { context, app: component, objects } = list
      const understood = atOnce(parseBundleState(JSON.parse(JSON.stringify(bundleOf(list)))))
      expect(understood).toMatchObject({ context, component, resourceVersion: String(list.version), unreadable: [] })
      const plain = (list: readonly { kind: string; group: string; name: string; readiness: string }[]): string[] =>
        list.map(({ group, kind, name, readiness }) => `${group}/${kind} ${name} ${readiness}`).toSorted()
      expect(plain(understood.objects.map(({ assessment, ...object }) => ({ ...object, ...assessment })))).toEqual(
        plain(objects),
      )
    }
    for (const { app, cluster, resource } of items.slice(0, 200)) {
      const { group: Group, kind: Kind, name } = resource
      const [item] = atOnce(
        parseResources({ resources: [{ app, cluster, GVK: { Group, Version: 'v1', Kind }, name }] }, null),
      )
      expect(item).toMatchObject({ ok: true, fact: { showable: resource.showable } })
    }
  })
})

let runs = 0

describe.each(stores)('a simulated orchestrator, on $name', (store) => {
  async function start(): Promise<RunningApp> {
    const server = await startApp({ store })
    onTestFinished(() => server.stop())
    return server
  }

  /** Until one group was updated and another terminated, at many times the speed of life. */
  async function play(url: string, isEnough: (running: Running) => boolean = hasLived): Promise<Findings> {
    const stop = new AbortController()
    let timer: NodeJS.Timeout | undefined
    runs += 1
    const size = { devices: 1, rollouts: 1, clusters: 3, agents: 0, seed: 7, run: `clusters-${runs}` }
    return await simulate({ url, ...size, speed: 60, duration: null }, stop.signal, (running) => {
      timer = setInterval(() => {
        if (isEnough(running) || running.clusters.ledger.differences.length > 0) stop.abort()
      }, 10)
    }).finally(() => clearInterval(timer))
  }

  async function meddle(server: RunningApp, what: (passing: Passing) => Promise<boolean>): Promise<string> {
    const between = await standBetween(server.url, what)
    onTestFinished(() => between.close())
    return between.url
  }

  it('finds that the server knows all that it has acknowledged', async () => {
    const { clusters, differences } = await play((await start()).url)
    expect(differences).toEqual([])
    expect(clusters).toMatchObject({ groups: 3, uncertain: 0 })
    expect(clusters.instances).toBeGreaterThan(3)
    expect(clusters.resources).toBeGreaterThan(50)
  })

  it.runIf(isWhole)('retries when the server answers "not now" or loses an answer', async () => {
    const random = createRandom('faults')
    let faults = 0
    const url = await meddle(await start(), async ({ path, pass, answer, cut }) => {
      const fate = path.startsWith('/v2/') ? random.index(20) : 20
      if (fate === 0) answer(503, '{}', { 'retry-after': '0' })
      if (fate === 1) await pass()
      if (fate === 1) cut()
      faults += fate <= 1 ? 1 : 0
      return fate <= 1
    })
    const { differences, clusters } = await play(url, ({ clusters: { ledger } }) => ledger.verdicts.APPLIED > 150)
    expect(differences).toEqual([])
    expect(clusters.uncertain).toBe(0)
    expect(faults).toBeGreaterThan(0)
  })

  const liars: readonly [string, RegExp, (passing: Passing) => Promise<boolean>][] = [
    [
      'lost what a cluster showed',
      /its counts is .* but should be/,
      async ({ path, answer }) => {
        if (!path.includes('/resource-bundle-states/')) return false
        answer(200, JSON.stringify({ verdict: 'APPLIED', revision: '1' }))
        return true
      },
    ],
    [
      'took what was applied for pending',
      /the verdict on .* resources of .* was UNCHANGED, but should be APPLIED/,
      async ({ path, body, answer, pass }) => {
        if (!path.endsWith('/resources') || !body.includes('"Applied"')) return false
        const { status, body: said } = await pass()
        answer(status, said.replaceAll('"APPLIED"', '"UNCHANGED"'))
        return true
      },
    ],
    [
      'refused a valid fact',
      /a valid fact was refused: Approved: HTTP 409 no thanks/,
      async ({ path, body, answer }) => {
        if (!path.endsWith('/actions') || !body.includes('Approved')) return false
        answer(409, JSON.stringify({ error: 'no thanks' }))
        return true
      },
    ],
  ]
  it.each(casesOf(1, liars))('notices a server that %s', async (_, complaint, what) => {
    const { differences } = await play(await meddle(await start(), what), hasShown)
    expect(differences.join('\n')).toMatch(complaint)
  })
})

function hasLived({ clusters: { ledger } }: Running): boolean {
  const accounts = [...ledger.accounts.values()]
  return accounts.some(({ state }) => state === 'Terminated') && accounts.some(({ instances }) => instances.length > 1)
}

/** Every group has been instantiated, and something has been seen. */
function hasShown({ clusters: { ledger } }: Running): boolean {
  return [...ledger.accounts.values()].every(({ instances }) => instances.some(({ versions }) => versions.size > 0))
}
