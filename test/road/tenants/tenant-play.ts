/** Plays moves, relabelling, forgetting and returning on a served road, and compares what each tenant receives with the model. */
import { expect } from 'vitest'
import type { KindName } from '../../../src/api/export/kinds/kind.ts'
import { type AccessScope, parseScopes } from '../../../src/domain/access-scope.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { moveMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { createSinks } from '../../../src/outlets/sinks/sinks.ts'
import { exportRows } from '../../export/rows.ts'
import { transports } from '../../graphql/clients.ts'
import { startApi } from '../../graphql/harness.ts'
import { namedAuth } from '../../graphql/principals.ts'
import type { Store } from '../../support/databases/stores.ts'
import { type Receiver, startReceiver } from '../../support/systems/receiver.ts'
import type { ModelReport } from '../reference/reference-facts.ts'
import { createModel } from '../reference/reference-model.ts'
import { toError } from '../reference/reference-shown.ts'
import { openWindows, windows } from '../reference/reference-windows.ts'
import type { Command } from './tenant-commands.ts'
import { filterOf, follow, type Live, notHere, notify, viewer, type Watcher, watch, webhook } from './tenant-live.ts'
import { createTenantModel, type Tenant, type ToldOf, tenants } from './tenant-model.ts'
import { type Answered, documents, showChange, showDeployment, showExported, showImage } from './tenant-shown.ts'

const scopeOf = (tenant: Tenant): AccessScope => parseScopes([`label:site=${tenant}`]) as AccessScope
/** All changes, and those of one device or rollout and of the last subject. */
const chosen = (tenant: Tenant): readonly ToldOf[] => [
  {},
  { devices: ['gw/1', `end-${tenant}`] },
  { rollouts: ['r-1'] },
]
const often = { interval: 5 }

export async function play(store: Store, commands: readonly Command[]): Promise<void> {
  let now = Date.now() + 3_600_000
  const api = await startApi({ store, graphql: { auth: namedAuth }, road: { writer: { clock: () => now } } })
  const live: Live[] = []
  const watchers: Watcher[] = []
  const receivers: Receiver[] = []
  const { writer, database, feed } = api.road
  const sinks = createSinks({
    database,
    hub: feed.hub,
    clock: Date.now,
    interval: 1_000,
    deliver: { WEBHOOK: webhook(api), CALLBACK: notHere, INVENTORY: notHere, ALERTMANAGER: notHere },
  })
  try {
    await openWindows(database.session)
    const base = Number((await api.ask('{ revision }')).revision)
    const model = createModel(base)
    const tenantModel = createTenantModel(model)
    let mark = 0

    async function label(device: string, owner: Tenant | null): Promise<void> {
      await writer.submit(registerDevices([registration(device, owner)]))
      model.register(device, now)
      tenantModel.owners.set(device, owner)
    }
    async function declare(rollout: string, device: string, id: string, parts: readonly string[]): Promise<void> {
      const declared = { deviceId: device, deploymentId: id, application: null, applicationVersion: null }
      await writer.submit(declareDeployments({ name: rollout, project: null }, [{ ...declared, components: parts }]))
      model.declare(rollout, [{ device, id, application: null, parts }], now)
    }
    for (const tenant of tenants) await label(`end-${tenant}`, tenant)
    await label('gw/1', 'a')
    await label('gw/2', 'b')
    for (const tenant of tenants) await declare('r-1', `end-${tenant}`, 'end', [])
    const keys = await rolloutKeys()
    for (const tenant of tenants)
      for (const of of chosen(tenant)) {
        for (const transport of transports) live.push(follow(api, transport, tenant, of, keys, base))
        const receiver = await startReceiver()
        receivers.push(receiver)
        live.push(await notify(api, receiver, tenant, of, keys, base))
      }
    sinks.refresh()
    for (const tenant of tenants)
      for (const transport of transports)
        for (const [document, of] of [
          [documents.deployment, {}],
          [documents.rollout, { rollouts: ['d-1'] }],
        ] as const)
          watchers.push(watch(transport.watch(api.url, document, {}, viewer(tenant)), tenant, of))
    expectFrom(0)

    async function rolloutKeys(): Promise<ReadonlyMap<string, number>> {
      const rows = await database.session.run<{ key: number; name: string }>('select key, name from rollouts')
      return new Map(rows.map(({ key, name }) => [name, key]))
    }

    async function send(r: ModelReport): Promise<void> {
      const answer = await api.report(toReport(r))
      const said = model.report(r, now)
      expect(answer).toMatchObject(typeof said === 'string' ? expect.unreachable(said) : said)
      // A first report that repeats its declaration is not kept.
      const last = model.kept.at(-1)
      const isKept = model.kept.length > tenantModel.heard.length
      if (!last || !isKept) return
      const { number, verdict, revision } = last
      tenantModel.heard.push({ number, device: r.device, verdict, state: r.state, at: now, revision })
    }

    async function run(next: Command): Promise<void> {
      now += 1_000
      mark += 1
      const marked = `m${mark} said on`
      const from = model.log.length
      switch (next.do) {
        case 'report':
        case 'late': {
          const { device, id, state, fails, parts } = next
          const error = fails ? `${marked} ${device}` : null
          const seq = next.do === 'late' ? 0 : mark
          const order = { version: null, boot: null, seq, time: null }
          const named = Object.fromEntries(parts.map((part) => [part, { state, error }]))
          await send({ ...order, reporter: 'gw', device, id, state, error, parts: named })
          break
        }
        case 'declare':
          await declare(next.rollout, next.device, next.id, next.parts)
          break
        case 'forget': {
          const all = await database.session.run<{ key: number }>('select key from deployments order by key')
          // The first ones tell the end.
          const number = next.number + tenants.length
          const key = all[number]?.key
          if (key === undefined) break
          await writer.submit(forgetDeployments([key]))
          model.forget([number], now)
          break
        }
        case 'maintain': {
          const windowKey = next.window === null ? null : (windows.get(next.window) ?? null)
          const moves = next.devices.map((name) => ({
            target: { kind: 'DEVICE', provider: '', name } as const,
            windowKey,
          }))
          await writer.submit(moveMaintenance(moves))
          model.maintain(next.devices, next.window, now)
          break
        }
        case 'label':
          // A delivery is compared when it is taken, so earlier ones must have arrived.
          await settle()
          await label(next.device, next.owner)
          return
      }
      expectFrom(from)
    }

    function expectFrom(from: number): void {
      for (const { tenant, of, expected } of live)
        expected.push(...tenantModel.changes(tenant, model.log.slice(from), of))
      for (const { tenant, of, allowed } of watchers)
        for (const change of tenantModel.changes(tenant, model.log, of)) allowed.add(JSON.stringify(change))
    }

    /** Every tenant has received everything: the last change is its own. */
    async function settle(): Promise<void> {
      for (const tenant of tenants) {
        const device = `end-${tenant}`
        const order = { version: null, boot: null, time: null, seq: null, parts: {} }
        const from = model.log.length
        now += 1_000
        mark += 1
        await send({ ...order, reporter: device, device, id: 'end', state: 'FAILED', error: `m${mark} end` })
        expectFrom(from)
      }
      for (const one of live) {
        await expect.poll(() => one.told().length, often).toBeGreaterThanOrEqual(one.expected.length)
        expect(one.told()).toEqual(one.expected)
      }
      for (const { allowed, told } of watchers)
        expect(told().filter((change) => !allowed.has(JSON.stringify(change)))).toEqual([])
    }

    const exportOf = (tenant: Tenant, kind: KindName, parameters: Record<string, string>) =>
      exportRows(database, kind, parameters, scopeOf(tenant))

    for (const next of commands) await run(next)
    await settle()
    const places: readonly ToldOf[] = [
      {},
      ...['gw/1', 'gw/2', 'gw/3'].map((device) => ({ devices: [device] })),
      ...['r-1', 'r-2', 'd-1'].map((rollout) => ({ rollouts: [rollout] })),
    ]
    const allKeys = await rolloutKeys()
    for (const tenant of tenants) {
      for (const of of places) {
        const expected = tenantModel.changes(tenant, model.log, of)
        const filter = filterOf(of, allKeys)
        const { changes } = await api.ask(documents.log, { filter }, viewer(tenant))
        expect(changes.nodes.map(showChange)).toEqual(expected)
        expect(changes.totalCount).toBe(expected.length)
        const where = JSON.stringify(filter)
        const exported = await exportOf(tenant, 'changes', { afterRevision: String(base), where })
        expect(exported.map(showExported).map(showChange)).toEqual(expected)
      }
      for (const at of [null, ...model.past.keys()]) await expectState(tenant, at)
      await Promise.all([...model.past.keys()].map((after) => expectResumed(tenant, after)))
    }

    async function expectState(tenant: Tenant, at: number | null): Promise<void> {
      const variables = { at: at === null ? null : String(at) }
      const { deployments, deploymentCounts, inside, devices } = await api.ask(
        documents.state,
        variables,
        viewer(tenant),
      )
      const shown = deployments.nodes.map((d: Answered) => ({
        ...showDeployment(d),
        history: d.history.nodes.map(showChange),
        reports: d.reports.nodes,
      }))
      const expected = tenantModel.deployments(tenant, at).map(({ number, image }) => ({
        ...showImage(image),
        history: tenantModel.history(tenant, number, at),
        reports: tenantModel.reports(tenant, number, at),
      }))
      expect(byRevision(shown)).toEqual(byRevision(expected))
      expect([deployments.totalCount, deploymentCounts.total]).toEqual([expected.length, expected.length])
      const maintained = tenantModel.maintained(tenant, at)
      expect(devices.nodes.map(({ deviceId }: Answered) => deviceId)).toEqual(maintained)
      expect(inside.total).toBe(
        tenantModel.deployments(tenant, at).filter(({ image }) => maintained.includes(image.device)).length,
      )
      const then: Record<string, string> = at === null ? {} : { atRevision: String(at) }
      const rows = await exportOf(tenant, 'deployments', then)
      const ofList = expected.map(({ reports: _, history: __, ...image }) => image)
      expect(byRevision(rows.map(showExported).map(showDeployment))).toEqual(byRevision(ofList))
      const reports = await exportOf(tenant, 'reports', { ...then, afterRevision: String(base) })
      for (const { target } of reports) expect(tenantModel.owners.get(String(target))).toBe(tenant)
      // Beside those of listed deployments there are those of forgotten ones.
      const left = reports.map(({ deploymentId, verdict, state }) => JSON.stringify([deploymentId, verdict, state]))
      for (const { deploymentId, reports: own } of deployments.nodes)
        for (const { verdict, state } of own.nodes) {
          const place = left.indexOf(JSON.stringify([deploymentId, verdict, state]))
          expect([deploymentId, verdict, state, place]).not.toContain(-1)
          left.splice(place, 1)
        }
    }

    async function expectResumed(tenant: Tenant, after: number): Promise<void> {
      // With one filter after the other.
      const of = chosen(tenant)[after % 3] ?? {}
      for (const transport of transports) {
        const rest = model.log.filter(({ revision }) => revision > after)
        const expected = tenantModel.changes(tenant, rest, of)
        const variables = { after: String(after), filter: filterOf(of, keys) }
        const stream = transport.watch(api.url, documents.changes, variables, viewer(tenant))
        try {
          const told: Answered[] = []
          while (told.length < expected.length) {
            const { change } = (await stream.data()).changes
            if (change) told.push(change)
          }
          expect(told.map(showChange)).toEqual(expected)
          for (const { revision, deployment } of told) {
            const change = model.log.find((one) => one.revision === Number(revision)) ?? expect.unreachable()
            const linked = tenantModel.linked(tenant, change) ?? expect.unreachable()
            expect(showDeployment(deployment)).toEqual(showImage(linked))
          }
        } finally {
          await stream.close()
        }
      }
    }
  } finally {
    for (const one of [...live, ...watchers]) await one.close()
    await sinks.stop()
    for (const receiver of receivers) await receiver.close()
    await api.close()
  }
}

function byRevision(list: readonly object[]): object[] {
  return list.toSorted((a, b) => Number((a as Answered).revision) - Number((b as Answered).revision))
}

function toReport(r: ModelReport) {
  return {
    ...{ reporter: r.reporter, deploymentId: r.id, deviceId: r.device === r.reporter ? null : r.device },
    ...{ state: r.state, error: toError(r.error), seq: r.seq === null ? null : String(r.seq) },
    components: Object.entries(r.parts).map(([name, { state, error }]) => ({ name, state, error: toError(error) })),
  }
}

function registration(deviceId: string, owner: Tenant | null) {
  const labels = owner === null ? [] : [{ key: 'site', value: owner }]
  return { deviceId, name: null, labels, parent: null, expectedInterval: null, tokenHash: crypto.randomUUID() }
}
