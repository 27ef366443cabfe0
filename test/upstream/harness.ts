/** A server that sends to the one above, without its shell: the road, and outlets/upstream. */

import { Registry } from 'prom-client'
import { afterEach, expect } from 'vitest'
import { createUpstream, type Upstream, type UpstreamDeps } from '../../src/outlets/upstream/upstream.ts'
import { createLog } from '../../src/platform/log/log.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database } from '../../src/store/database.ts'
import { imageFields, toImage, toTarget } from '../../src/store/sql/rows.ts'
import type { EmptyStore, Store } from '../support/databases/stores.ts'
import { createRoad, type Road } from '../support/servers/road.ts'
import { type SiteReceiver, startSiteReceiver } from '../support/systems/site-receiver.ts'

const fast: UpstreamDeps['pace'] = {
  ...{ gathering: 5, look: 20, contact: 60_000, closing: 10_000 },
  ...{ backOff: { first: 5, longest: 40 }, refusedBackOff: { first: 10, longest: 40 } },
}

export interface Site {
  readonly road: Road
  readonly upstream: Upstream
  readonly registry: Registry
  readonly lines: readonly string[]
  stop(): Promise<void>
}

type SiteOptions = Partial<Pick<UpstreamDeps, 'pace' | 'patience' | 'interval'>> & {
  readonly url?: string
  readonly token?: string
}

export function useUpstream(store: Store) {
  const ending: (() => Promise<unknown>)[] = []
  const end = async (): Promise<void> => {
    for (const one of ending.splice(0).reverse()) await one()
  }
  afterEach(end)

  async function above(options?: Parameters<typeof startSiteReceiver>[0]): Promise<SiteReceiver> {
    const receiver = await startSiteReceiver(options)
    ending.push(() => receiver.close())
    return receiver
  }

  async function startStore(): Promise<EmptyStore> {
    const empty = await store.create()
    ending.push(() => empty.drop())
    return empty
  }

  async function startRoad(on?: EmptyStore): Promise<Road> {
    const road = await createRoad(await (on ?? (await startStore())).open())
    ending.push(() => road.close())
    return road
  }

  /** It sends what this road has. */
  function send(road: Road, receiver: Pick<SiteReceiver, 'url'>, options: SiteOptions = {}): Site {
    const lines: string[] = []
    const log = createLog({ level: 'info', to: { write: (line: string) => void lines.push(JSON.parse(line).msg) } })
    const registry = new Registry()
    const { url = receiver.url, token = 'of-plant', pace, ...more } = options
    const upstream = createUpstream({
      config: { url, token, files: { cert: null, key: null, ca: null } },
      ...{ database: road.database, hub: road.feed.hub, metrics: { registry }, log, clock: Date.now },
      failed: (error) => lines.push(`failed: ${(error as Error).message}`),
      ...{ interval: 50, patience: 20_000, pace: { ...fast, ...pace } },
      ...more,
    })
    let stopped: Promise<void> | null = null
    const stop = (): Promise<void> => {
      stopped ??= upstream.stop()
      return stopped
    }
    ending.push(stop)
    return { road, upstream, registry, lines, stop }
  }

  return { above, startStore, startRoad, send, end }
}

/** Until the receiver has everything that this database has now. */
export async function untilLevel({ database }: Pick<Road, 'database'>, receiver: SiteReceiver): Promise<void> {
  const { revision, epochBase } = await readHead(database.session)
  const targets = await targetsIn(database)
  await receiver.until(() => {
    const { position, targets: held } = receiver.held()
    return position?.epoch === epochBase && position.revision >= revision && targets.every(({ key }) => held.has(key))
  })
}

/** What the receiver has is the present of this database, and, from a revision on, its log: each entry once, in order. */
export async function expectSame(database: Database, receiver: SiteReceiver, from = 0): Promise<void> {
  expect(receiver.violations).toEqual([])
  const { deployments, facts } = receiver.held()
  const present = [...deployments]
    .flatMap(([key, { image, ...held }]) => (image.forgottenAt === null ? [{ key, ...held, ...shown(image) }] : []))
    .sort((a, b) => a.key - b.key)
  expect(present).toEqual(await presentIn(database))
  const sent = (await entriesIn(database)).filter(({ revision }) => revision > from)
  expect(facts.map(({ revision, changes, at }) => ({ revision, changes, at }))).toEqual(sent)
  const targets = await targetsIn(database)
  const held = receiver.held().targets
  expect(targets.map(({ key }) => held.get(key)).map((one) => one && shownTarget(one))).toEqual(
    targets.map((target) => shownTarget({ ...target, parent: target.parentKey })),
  )
}

const shown = ({ targetKey, rolloutKey: _, instanceKey: __, ...image }: ReturnType<typeof toImage>) => ({
  ...image,
  targetKey,
})

const shownTarget = (target: {
  readonly key: number
  readonly name: string
  readonly displayName?: string | null
  readonly labels?: readonly unknown[]
  readonly connectivity: string
  readonly parent?: number | null
  readonly registered?: boolean
}) => {
  const { key, name, displayName = null, labels = [], connectivity, parent = null, registered = false } = target
  return { key, name, displayName, labels, connectivity, parent, registered }
}

async function presentIn(database: Database) {
  const rows = await database.session.run<Record<string, never> & { key: number; target_key: number }>(
    `select d.*, json_build_object('kind', r.kind, 'name', r.name, 'project', r.project, 'compositeApp', r.composite_app,
       'compositeAppVersion', r.composite_app_version, 'provider', r.provider) as rollout
     from deployments d join rollouts r on r.key = d.rollout_key where d.forgotten_at is null order by d.key`,
  )
  expect(imageFields.length).toBeGreaterThan(10)
  return rows.map((row) => ({
    ...{ key: row.key, deploymentId: row.deployment_id, reporter: row.reporter, target: row.target_key },
    rollout: row.rollout,
    ...shown(toImage(row as never)),
  }))
}

async function entriesIn({ session }: Database) {
  return session.run<{ revision: number; changes: unknown; at: number }>(
    `select first_revision as revision, changes, at from change_log
     where resource_key is null and (deployment_key is not null or target_key is not null) order by first_revision`,
  )
}

async function targetsIn({ session }: Database) {
  const rows = await session.run<Parameters<typeof toTarget>[0]>('select * from targets order by key')
  return rows.map(toTarget)
}
