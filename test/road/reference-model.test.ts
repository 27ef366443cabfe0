import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Change, ChangeFilter } from '../../src/domain/change.ts'
import { deploymentStates } from '../../src/domain/deployment.ts'
import type { FeedEvent } from '../../src/feed/change-stream.ts'
import { declareDeployments, forgetDeployments } from '../../src/ingest/commands/declare.ts'
import { resetReporterOrder } from '../../src/ingest/commands/device.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { audit } from '../../src/store/audit.ts'
import { readLog } from '../../src/store/changes.ts'
import { countDeployments } from '../../src/store/deployment-counts.ts'
import { pageDeployments } from '../../src/store/deployments.ts'
import { pruneHistory } from '../../src/store/housekeeping.ts'
import { readHead } from '../../src/store/log-head.ts'
import { openDatabase } from '../../src/store/open.ts'
import { resolvePast } from '../../src/store/past.ts'
import { report } from '../support/reports.ts'
import { createRoad, type Road } from '../support/road.ts'
import { type Store, stores } from '../support/stores.ts'
import { type Command, command, type Said } from './reference-commands.ts'
import { createModel, type ModelDeployment, type ModelReport } from './reference-model.ts'

const runs = Number(process.env.ROLLCALL_MODEL_RUNS ?? 12)

const filters: Record<'all' | 'some', { feed: ChangeFilter; takes: (line: Line) => boolean }> = {
  all: { feed: {}, takes: () => true },
  some: {
    feed: { deploymentIds: ['d-1'], kinds: ['DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED'] },
    takes: ({ id, what }) => id === 'd-1' && /^(state|component) /.test(what),
  },
}

interface Line {
  readonly revision: number
  readonly id: string
  readonly what: string
}

interface Follower {
  readonly filter: 'all' | 'some'
  readonly seen: (Line | { readonly reset: number })[]
  readonly expected: (Line | { readonly reset: number })[]
  cursor: number
  stream: AsyncIterableIterator<FeedEvent> | null
}

describe.each(stores)('the road on $name', (store) => {
  it('says what the reference model says, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40, size: 'max' }), (commands) =>
        play(store, commands),
      ),
      // Time to shrink a failure, and an end to it.
      { numRuns: runs, interruptAfterTimeLimit: 400_000 },
    )
  }, 600_000)
})

async function play(store: Store, commands: readonly Command[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-model-'))
  const empty = await store.create()
  const open = (): Promise<Road> =>
    (store.name === 'PGlite' ? openDatabase({ url: null, dataDir: folder }) : empty.open()).then((database) =>
      createRoad(database, { writer: { clock: () => now } }),
    )
  // Later than the database begins, so that its log's time is ours.
  let now = Date.now() + 3_600_000
  let road = await open()
  const model = createModel((await readHead(road.database.session)).revision)
  const start = model.revision()
  const followers: Follower[] = [{ filter: 'all', seen: [], expected: [], cursor: start, stream: null }]
  const moments: { revision: number; present: ModelDeployment[] }[] = []
  const delayed: ModelReport[] = []
  let last: ModelReport | null = null
  let tail = start
  let isExpecting = start

  const line = (change: Change): Line => ({
    revision: change.revision,
    id: change.deploymentId ?? '',
    what: describeChange(change),
  })

  function follow(follower: Follower): void {
    const stream = road.feed.changes({ filter: filters[follower.filter].feed, after: follower.cursor })
    follower.stream = stream
    void (async () => {
      for await (const { cursor, change, reset } of stream) {
        if (follower.stream !== stream) return
        if (change) follower.seen.push(line(change))
        else if (reset) follower.seen.push({ reset: cursor })
        follower.cursor = cursor
      }
    })()
  }

  async function leave(follower: Follower): Promise<void> {
    await settle(follower)
    const { stream } = follower
    follower.stream = null
    await stream?.return?.()
  }

  async function settle(follower: Follower): Promise<void> {
    if (follower.stream) await expect.poll(() => follower.seen.length).toBeGreaterThanOrEqual(follower.expected.length)
    expect(follower.seen).toEqual(follower.expected)
  }

  function resume(follower: Follower): void {
    if (follower.stream) return
    if (follower.cursor < tail) {
      follower.expected.push({ reset: tail })
      follower.cursor = tail
      expectFrom(follower, tail)
      // The stream is asked with the cursor that has grown old.
      follower.cursor = tail - 1
    } else expectFrom(follower, follower.cursor)
    follow(follower)
  }

  function expectFrom(follower: Follower, after: number): void {
    for (const item of model.log)
      if (item.revision > after && filters[follower.filter].takes(item)) follower.expected.push(item)
  }

  /** What the model has told since the last time, to whoever is listening. */
  function expectNews(): void {
    for (const item of model.log)
      if (item.revision > isExpecting)
        for (const follower of followers)
          if (follower.stream && filters[follower.filter].takes(item)) follower.expected.push(item)
    isExpecting = model.revision()
    moments.push({ revision: model.revision(), present: model.present() })
  }

  const timed = ({ ahead, ...r }: Said): ModelReport => ({
    ...r,
    time: ahead === null ? null : now + ahead * 1_000,
  })

  async function send(...reports: readonly ModelReport[]): Promise<void> {
    const outcomes = await Promise.all(reports.map((r) => road.writer.submit(recordReport(toReport(r)))))
    const expected = reports.map((r) => model.report(r, now))
    expect(
      outcomes.map((outcome) => ({ verdict: outcome.verdict, staleBy: 'staleBy' in outcome ? outcome.staleBy : null })),
    ).toEqual(expected)
    last = reports.at(-1) ?? last
  }

  async function run(next: Command): Promise<void> {
    switch (next.do) {
      case 'report':
        return send(timed(next.r))
      case 'repeat':
        return last ? send(last) : undefined
      case 'delay':
        delayed.push(timed(next.r))
        return
      case 'deliver': {
        const late = delayed.shift()
        return late ? send(late) : undefined
      }
      case 'burst':
        return send(...next.rs.map(timed))
      case 'declare': {
        const { device, id, components } = next
        const declaration = {
          deviceId: device,
          deploymentId: id,
          application: null,
          applicationVersion: null,
          components,
        }
        await road.writer.submit(declareDeployments({ name: 'declared', project: null }, [declaration]))
        model.declare(id, device, 'declared', components)
        return
      }
      case 'forget': {
        const present = model.deployments.filter(({ forgotten }) => !forgotten)
        const d = present[next.n % Math.max(present.length, 1)]
        if (!d) return
        const [row] = await road.database.session.run<{ key: number }>(
          'select key from deployments where deployment_id = $1 and reporter = $2',
          [d.id, d.reporter],
        )
        await road.writer.submit(forgetDeployments([row?.key ?? -1]))
        model.forget(d)
        return
      }
      case 'resetOrder': {
        const isKnown = model.deployments.some(({ reporter }) => reporter === next.reporter)
        if (isKnown) await road.writer.submit(resetReporterOrder(next.reporter))
        model.resetOrder(next.reporter)
        return
      }
      case 'subscribe': {
        const follower: Follower = {
          filter: next.filter,
          seen: [],
          expected: [],
          cursor: model.revision(),
          stream: null,
        }
        followers.push(follower)
        follow(follower)
        return
      }
      case 'drop': {
        const follower = followers[next.n % followers.length]
        return follower ? leave(follower) : undefined
      }
      case 'resume': {
        const follower = followers[next.n % followers.length]
        return follower ? resume(follower) : undefined
      }
      case 'restart': {
        const live = followers.filter(({ stream }) => stream)
        for (const follower of live) await leave(follower)
        await road.close()
        road = await open()
        for (const follower of live) resume(follower)
        return
      }
      case 'prune': {
        for (const follower of followers) await settle(follower)
        now += 1
        await pruneHistory(road.database, now, next.step)
        tail = (await readHead(road.database.session)).tail
        return
      }
      case 'wait':
        now += next.seconds * 1_000
        return
    }
  }

  try {
    for (const follower of followers) follow(follower)
    for (const next of commands) {
      await run(next)
      expectNews()
    }
    for (const follower of followers) {
      resume(follower)
      await settle(follower)
    }
    await check()
  } finally {
    for (const { stream } of followers) await stream?.return?.()
    await road.close()
    await empty.drop()
    rmSync(folder, { recursive: true, force: true })
  }

  async function check(): Promise<void> {
    const { session } = road.database
    const head = await readHead(session)
    expect(head.revision).toBe(model.revision())
    const log = (await readLog(session, tail, 10_000)).map(line)
    expect(log).toEqual(model.log.filter(({ revision }) => revision > tail))
    const snapshot = await road.database.snapshot()
    try {
      expect(await audit(snapshot)).toEqual([])
      await expectState(null, model.present())
      for (const { revision, present } of moments) {
        const past = resolvePast(snapshot, { asOf: null, atRevision: String(revision) })
        if (revision < tail) await expect(past).rejects.toMatchObject({ code: 'HISTORY_EXPIRED' })
        else await expectState(await past, present)
      }
      const kept = await snapshot.run<{ line: string }>(
        `select d.deployment_id || ' ' || r.verdict as line from reports r join deployments d on d.key = r.deployment_key order by r.key`,
      )
      // Retention takes the oldest of them.
      expect(kept.map((row) => row.line)).toEqual(kept.length === 0 ? [] : model.kept.slice(-kept.length))
      if (tail === start) expect(kept).toHaveLength(model.kept.length)
    } finally {
      await snapshot.close()
    }

    async function expectState(asOf: number | null, present: readonly ModelDeployment[]): Promise<void> {
      const page = { size: 100, after: null, before: null, backward: false }
      const rows = (await pageDeployments(snapshot, { of: 'fleet' }, {}, 'NAME', page, asOf)).get(0)?.edges ?? []
      const names = new Map(
        (await snapshot.run<{ key: number; name: string }>('select key, name from targets')).map((t) => [
          t.key,
          t.name,
        ]),
      )
      const shown = rows.map(({ node }) => ({
        id: node.deploymentId,
        device: names.get(node.targetKey),
        state: node.state,
        error: node.error?.code ?? null,
        components: Object.fromEntries(node.components.map(({ name, state }) => [name, state])),
        attempt: node.attempt,
        version: node.adoptedManifestVersion,
      }))
      const expected = present.map(({ id, device, state, error, components, attempt, version }) => ({
        id,
        device,
        state,
        error,
        components,
        attempt,
        version: version === null ? null : String(version),
      }))
      const order = (a: object, b: object): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
      expect(shown.toSorted(order)).toEqual(expected.toSorted(order))
      const counts = (await countDeployments(snapshot, { of: 'fleet' }, {}, asOf)).get(0)
      for (const state of deploymentStates)
        expect([state, counts?.[state.toLowerCase() as keyof typeof counts]]).toEqual([
          state,
          present.filter((d) => d.state === state).length,
        ])
    }
  }
}

function toReport(r: ModelReport) {
  return report({
    reporter: r.reporter,
    deploymentId: r.id,
    deviceId: r.device === r.reporter ? null : r.device,
    state: r.state,
    error: r.error === null ? null : { code: r.error, message: '' },
    components: Object.entries(r.components).map(([name, state]) => ({ name, state, error: null })),
    adoptedManifestVersion: r.version === null ? null : String(r.version),
    boot: r.boot,
    seq: r.seq === null ? null : String(r.seq),
    observedAt: r.time,
  })
}

function describeChange(change: Change): string {
  switch (change.kind) {
    case 'DEPLOYMENT_STATE_CHANGED':
      return `state ${change.from} ${change.to} ${change.error?.code ?? null} ${change.attempt} ${change.adoptedManifestVersion}`
    case 'COMPONENT_STATE_CHANGED':
      return `component ${change.component} ${change.from} ${change.to}`
    case 'COMPONENT_REMOVED':
      return `gone ${change.component} ${change.from}`
    case 'DEPLOYMENT_MOVED':
      return `moved ${change.fromTargetName} ${change.targetName}`
    case 'DEPLOYMENT_REVISED':
      return 'revised declared'
    case 'DEPLOYMENT_FORGOTTEN':
      return 'forgotten'
    default:
      return change.kind
  }
}
