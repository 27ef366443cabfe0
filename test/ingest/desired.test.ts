/**
 * What devices should run against what they say, held to a small model: for any sequence of declarations, removals, reports
 * (late and repeated), forgetting and restarts both say the same, of the present and of every moment of the past.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBundle } from '../../src/dialects/margo/bundle.ts'
import { digestOf } from '../../src/dialects/margo/digest.ts'
import type { Convergence } from '../../src/domain/desired.ts'
import { DomainError } from '../../src/domain/errors.ts'
import type { DeploymentState } from '../../src/domain/values.ts'
import {
  type Desire,
  declareDeployments,
  forgetDeployments,
  removeDeployments,
} from '../../src/ingest/commands/declare.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { beginEpoch } from '../../src/store/connection/epoch.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database } from '../../src/store/database.ts'
import { audit } from '../../src/store/read/audit.ts'
import { readLog } from '../../src/store/read/changes.ts'
import { countConvergence } from '../../src/store/read/deployment-counts.ts'
import { pageDeployments } from '../../src/store/read/deployments.ts'
import { documentsAt, findBundle, manifestHistory, newestManifests } from '../../src/store/read/desired.ts'
import { targetByName } from '../../src/store/read/targets.ts'
import { type DeploymentRecord, toDeployment } from '../../src/store/sql/rows.ts'
import { foldAll } from '../store/reads/history.ts'
import { report } from '../support/reports.ts'
import { createRoad, type Road } from '../support/road.ts'
import { type EmptyStore, stores } from '../support/stores.ts'

const bundle: Desire['bundle'] = (documents) => {
  const bytes = createBundle(documents)
  return { digest: digestOf(bytes), size: bytes.length }
}
const desire: Desire = { cause: { who: 'somebody', why: 'because' }, bundle }

const states: readonly DeploymentState[] = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED']

/** Who reports what runs on it; two are behind a gateway. */
const places = [
  { device: 'solo', owner: 'solo' },
  { device: 'gw/one', owner: 'gw' },
  { device: 'gw/two', owner: 'gw' },
]
const ids = ['x', 'y']

type Step =
  | { readonly do: 'declare'; readonly list: readonly { place: number; id: number; text: number }[] }
  | {
      readonly do: 'report'
      readonly place: number
      readonly id: number
      readonly state: DeploymentState
      readonly adopts: number | null
    }
  | { readonly do: 'late'; readonly back: number }
  | { readonly do: 'remove'; readonly nth: number }
  | { readonly do: 'forget'; readonly nth: number }
  | { readonly do: 'restart' }

const place = fc.nat(places.length - 1)
const id = fc.nat(ids.length - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('declare' as const),
      list: fc.uniqueArray(fc.record({ place, id, text: fc.nat(2) }), {
        minLength: 1,
        maxLength: 3,
        // As the API asks: one document for a deploymentId in one manifest.
        selector: (one) => `${places[one.place]?.owner} ${one.id}`,
      }),
    }),
  },
  {
    weight: 8,
    // How many versions behind the newest one the device is; null: it does not say.
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      place,
      id,
      state: fc.constantFrom(...states),
      adopts: fc.option(fc.nat(2), { freq: 5 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('late' as const), back: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), nth: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), nth: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

interface Said {
  readonly owner: string
  readonly device: string
  readonly id: string
  readonly state: DeploymentState
  readonly adopted: number | null
  readonly seq: number
}

interface Modelled {
  state: DeploymentState
  adopted: number | null
  /** Of the newest report heard. */
  marks: { adopted: number | null; seq: number } | null
  target: number | null
  text: string | null
  forgotten: boolean
}

/** The rules of docs/wire.md once more, with nothing of the code's. */
function createModel() {
  const deployments = new Map<string, Modelled>()
  const manifests = new Map<
    string,
    { version: number; texts: Map<string, string>; past: Map<number, Map<string, string>> }
  >()
  const manifest = (owner: string) => {
    const known = manifests.get(owner) ?? { version: 1, texts: new Map(), past: new Map() }
    manifests.set(owner, known)
    return known
  }
  const change = (owner: string, texts: Map<string, string>): number => {
    const known = manifest(owner)
    known.texts = texts
    known.version += 1
    known.past.set(known.version, texts)
    return known.version
  }
  const born = (): Modelled => ({
    state: 'PENDING',
    adopted: null,
    marks: null,
    target: null,
    text: null,
    forgotten: false,
  })
  const present = (name: string): Modelled => {
    const known = deployments.get(name)
    const found = !known || known.forgotten ? born() : known
    deployments.set(name, found)
    return found
  }
  return {
    deployments,
    manifests,
    newest: (owner: string) => manifest(owner).version,
    declare(list: readonly { owner: string; id: string; text: string }[]) {
      for (const one of list) present(`${one.owner} ${one.id}`)
      for (const [owner, own] of Map.groupBy(list, (one) => one.owner)) {
        const news = own.filter((one) => manifest(owner).texts.get(one.id) !== one.text)
        if (news.length === 0) continue
        const texts = new Map(manifest(owner).texts)
        for (const one of news) texts.set(one.id, one.text)
        const target = change(owner, texts)
        for (const one of news) Object.assign(present(`${owner} ${one.id}`), { target, text: one.text })
      }
    },
    remove(name: string) {
      const [owner = '', id = ''] = name.split(' ')
      if (!manifest(owner).texts.has(id)) return
      const texts = new Map(manifest(owner).texts)
      texts.delete(id)
      Object.assign(present(name), { target: change(owner, texts), text: null })
    },
    report({ owner, id, state, adopted, seq }: Said) {
      const known = present(`${owner} ${id}`)
      const { marks } = known
      const older = (a: number | null, b: number | null): number => (a === null || b === null ? 0 : a - b)
      if (marks) {
        const byVersion = older(adopted, marks.adopted)
        if (byVersion < 0 || (byVersion === 0 && seq < marks.seq)) return
      }
      known.marks = { adopted: adopted ?? marks?.adopted ?? null, seq }
      known.state = state
      known.adopted = adopted ?? known.adopted
    },
    convergence({ target, adopted, state, text }: Modelled): Convergence {
      if (target === null || adopted === null) return 'UNKNOWN'
      if (adopted < target) return 'STALE'
      if (state === 'FAILED') return 'FAILED'
      if (text === null) return state === 'REMOVED' ? 'CONVERGED' : 'APPLYING'
      return state === 'INSTALLED' ? 'CONVERGED' : 'APPLYING'
    },
  }
}

type Picture = Readonly<Record<string, string>>

describe.each(stores)('what devices should run on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  /** Each road listens on a connection of its own, until its database is closed: without this, many runs would find no more. */
  const reopen = async (): Promise<void> => {
    if (store.name === 'PGlite') return
    await database.close()
    database = await empty.open()
  }

  const picture = async (run: number, asOf: number | null): Promise<Picture> => {
    const page = { size: 1_000, after: null, before: null, backward: false }
    const pages = await pageDeployments(database.session, { of: 'fleet' }, {}, 'NAME', page, asOf)
    const own = (pages.get(0)?.edges ?? [])
      .map(({ node }) => node)
      .filter(({ reporter }) => reporter.startsWith(`${run}-`))
    return Object.fromEntries(
      own.map((d) => [
        `${d.reporter.split('/')[0]} ${d.deploymentId}`,
        `${d.convergence} ${d.state} ${d.targetManifestVersion} ${d.adoptedManifestVersion} ${d.documentDigest}`,
      ]),
    )
  }

  let runs = 0

  it('is what a model says, now and at every moment', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const run = ++runs
        const named = (name: string) => `${run}-${name}`
        const model = createModel()
        const said: Said[] = []
        const moments: { revision: number; shown: Picture }[] = []
        const { revision: start } = await readHead(database.session)
        let road: Road = await createRoad(database)
        const stop = async (): Promise<void> => {
          road.feed.close()
          await road.writer.drain()
          await reopen()
        }
        const keyOf = async (name: string): Promise<number> => {
          const [owner, deploymentId] = name.split(' ')
          const rows = await database.session.run<{ key: number }>(
            "select key from deployments where deployment_id = $1 and (reporter = $2 or reporter like $2 || '/%') order by (forgotten_at is null) desc limit 1",
            [deploymentId, owner],
          )
          return rows[0]?.key ?? -1
        }
        const tell = async (one: Said): Promise<void> => {
          await road.writer.submit(
            recordReport(
              report({
                reporter: one.owner,
                deviceId: one.device,
                deploymentId: one.id,
                state: one.state,
                adoptedManifestVersion: one.adopted === null ? null : String(one.adopted),
                boot: 'b',
                seq: String(one.seq),
              }),
            ),
          )
          model.report(one)
        }
        try {
          for (const next of steps) {
            if (next.do === 'restart') {
              await stop()
              road = await createRoad(database)
            } else if (next.do === 'declare') {
              const list = next.list.map(({ place, id, text }) => {
                const { device = '', owner = '' } = places[place] ?? {}
                return { device: named(device), owner: named(owner), id: ids[id] ?? '', text: `run: ${text}\n` }
              })
              const declared = list.map(({ device, id: deploymentId, text: content }) => ({
                deviceId: device,
                deploymentId,
                application: null,
                applicationVersion: null,
                components: null,
                document: { content, digest: digestOf(content), size: content.length },
              }))
              await road.writer.submit(declareDeployments(null, declared, desire))
              model.declare(list)
            } else if (next.do === 'report') {
              const { device = '', owner = '' } = places[next.place] ?? {}
              const adopted = next.adopts === null ? null : Math.max(1, model.newest(named(owner)) - next.adopts)
              const about = { owner: named(owner), device: named(device), id: ids[next.id] ?? '' }
              const one = { ...about, state: next.state, adopted, seq: said.length + 1 }
              said.push(one)
              await tell(one)
            } else if (next.do === 'late') {
              const one = said.at(-1 - next.back)
              if (one) await tell(one)
            } else {
              const living = [...model.deployments].filter(([, known]) => !known.forgotten)
              const [name, known] = living[next.nth % Math.max(1, living.length)] ?? []
              if (!name || !known) continue
              const key = await keyOf(name)
              const command = next.do === 'remove' ? removeDeployments([key], desire) : forgetDeployments([key])
              const refused = await road.writer.submit<unknown>(command).then(
                () => false,
                (error: unknown) => error instanceof DomainError && error.code === 'INVALID_REQUEST',
              )
              // Only what has a document can be withdrawn, and only what has none be forgotten.
              expect(refused).toBe(next.do === 'remove' ? known.target === null : known.text !== null)
              if (refused) continue
              if (next.do === 'remove') model.remove(name)
              else known.forgotten = true
            }
            const living = [...model.deployments].filter(([, known]) => !known.forgotten)
            const expected = Object.fromEntries(
              living.map(([name, known]) => [
                name,
                `${model.convergence(known)} ${known.state} ${known.target} ${known.adopted} ${known.text === null ? null : digestOf(known.text)}`,
              ]),
            )
            expect(await picture(run, null)).toEqual(expected)
            moments.push({ revision: (await readHead(database.session)).revision, shown: expected })
          }
          for (const { revision, shown } of moments) expect(await picture(run, revision)).toEqual(shown)
          await holdManifests(model)
          await holdCounts()
          await holdLog(start)
        } finally {
          await stop()
        }
      }),
      { numRuns: store.name === 'PGlite' ? 25 : 15 },
    )
  })

  it('goes on above every version that a restored copy may have lost, and stays what it is', async () => {
    const road = await createRoad(database)
    const declare = (deviceId: string, content: string) =>
      road.writer.submit(
        declareDeployments(
          null,
          [
            {
              ...{ deviceId, deploymentId: 'kept', application: null, applicationVersion: null, components: null },
              document: { content, digest: digestOf(content), size: content.length },
            },
          ],
          desire,
        ),
      )
    const newest = async (name: string) => {
      const target = await targetByName(database.session, 'DEVICE', '', name)
      const key = target?.key ?? -1
      const manifest = (await newestManifests(database.session, [key])).get(key)
      const version = manifest?.version ?? 1
      const documents = await documentsAt(database.session, key, version)
      return { version, bundle: manifest?.bundleDigest, contents: documents.map(({ content }) => content) }
    }
    await declare('restored', 'a: 1')
    // What is declared for it was lost with the rest.
    await road.writer.submit(recordReport(report({ reporter: 'bare', deploymentId: 'lost' })))
    const before = await newest('restored')
    expect(before.version).toBe(2)
    // The same copy was put back before: its devices may have what was declared then.
    const putBack = async (now: number): Promise<number> => {
      let version = 0
      const lost = database.transaction(async (session) => {
        await beginEpoch(session, now)
        const [row] = await session.run<{ newest: number }>('select max(version) as newest from manifests')
        version = row?.newest ?? 0
        throw new Error('lost')
      })
      await expect(lost).rejects.toThrow('lost')
      return version
    }
    expect(await putBack(Date.now() + 60_000)).toBeGreaterThan(await putBack(Date.now()))
    // A clock that stands still, or never was set: above what one future can have used, and never the same twice.
    for (const now of [before.version, Date.now()]) {
      const versions: number[] = []
      for (let again = 0; again < 5; again += 1) versions.push(await putBack(now))
      expect(Math.min(...versions)).toBeGreaterThan(before.version + 2 ** 24 - 1)
      const sorted = versions.toSorted((a, b) => a - b)
      for (const [index, version] of sorted.slice(1).entries())
        expect(version - (sorted[index] ?? 0)).toBeGreaterThan(0)
    }
    await database.transaction((session) => beginEpoch(session, Date.now()))
    const after = await newest('restored')
    expect(after).toEqual({ ...before, version: expect.any(Number) })
    expect(after?.version).toBeGreaterThan(before.version + 999_999)
    expect((await newest('bare')).version).toBeGreaterThan(1_000_000)
    await declare('restored', 'a: 2')
    expect(await newest('restored')).toMatchObject({ version: after.version + 1, contents: ['a: 2'] })
    // A device that has a version of another lost epoch says so, and gets a newer one.
    const adopt = (adopted: number) =>
      road.writer.submit(
        recordReport(report({ reporter: 'restored', deploymentId: 'kept', adoptedManifestVersion: String(adopted) })),
      )
    const adopted = after.version + 2 ** 25
    await adopt(adopted)
    await declare('restored', 'a: 3')
    expect(await newest('restored')).toMatchObject({ version: adopted + 1, contents: ['a: 3'] })
    await adopt(2 ** 53 - 1)
    await declare('restored', 'a: 4')
    expect(await newest('restored')).toMatchObject({ version: adopted + 2, contents: ['a: 4'] })
    road.feed.close()
    await road.writer.drain()
  })

  async function holdManifests(model: ReturnType<typeof createModel>): Promise<void> {
    const { session } = database
    for (const [owner, { version, past }] of model.manifests) {
      const target = await targetByName(session, 'DEVICE', '', owner)
      const key = target?.key ?? -1
      expect((await newestManifests(session, [key])).get(key)?.version ?? 1).toBe(version)
      const replayed = new Map<string, string>()
      const history = await manifestHistory(session, key)
      expect(history.map((one) => one.version)).toEqual([...past.keys()])
      for (const one of history) {
        for (const { deploymentId, content } of one.changes)
          if (content === null) replayed.delete(deploymentId)
          else replayed.set(deploymentId, content)
        const listed = await documentsAt(session, key, one.version)
        expect(new Map(listed.map(({ deploymentId, content }) => [deploymentId, content]))).toEqual(
          past.get(one.version),
        )
        expect(replayed).toEqual(past.get(one.version))
        expect(one).toMatchObject({ who: 'somebody', why: 'because' })
        const made = listed.length === 0 ? null : bundle(listed)
        expect([one.bundleDigest, one.bundleSize]).toEqual([made?.digest ?? null, made?.size ?? null])
        if (made) expect((await findBundle(session, key, made.digest))?.bundleSize).toBe(made.size)
      }
    }
  }

  async function holdCounts(): Promise<void> {
    const snapshot = await database.snapshot()
    try {
      expect(await audit(snapshot)).toEqual([])
      const counted = (await countConvergence(snapshot, { of: 'fleet' }, {}, null)).get(0)
      // Which the counters do not answer.
      const listed = (await countConvergence(snapshot, { of: 'fleet' }, { text: '' }, null)).get(0)
      expect(counted).toEqual(listed)
      const stale = (await countConvergence(snapshot, { of: 'fleet' }, { convergence: ['STALE'] }, null)).get(0)
      expect(stale).toEqual({ converged: 0, applying: 0, failed: 0, stale: listed?.stale, unknown: 0 })
    } finally {
      await snapshot.close()
    }
  }

  /** Every move is told, by what it was before, and all of them together are what is there. */
  async function holdLog(start: number): Promise<void> {
    const changes = await readLog(database.session, start, 100_000)
    const last = new Map<number, Convergence>()
    for (const change of changes) {
      const key = change.deploymentKey ?? -1
      if (change.kind === 'DEPLOYMENT_STATE_CHANGED' && change.from === null) last.set(key, 'UNKNOWN')
      if (change.kind !== 'CONVERGENCE_CHANGED') continue
      expect(change.from).toBe(last.get(key) ?? 'UNKNOWN')
      last.set(key, change.to)
    }
    const rows = await database.session.run<DeploymentRecord>('select * from deployments')
    const present = new Map(rows.map(toDeployment).map((deployment) => [deployment.key, deployment]))
    for (const [key, { convergence, targetManifestVersion, documentDigest }] of foldAll(changes, Infinity))
      expect(present.get(key)).toMatchObject({ convergence, targetManifestVersion, documentDigest })
  }
})
