/** Everything there is to ask of the road, asked of the reference model too. */
import { expect } from 'vitest'
import { type DeploymentState, deploymentStates } from '../../../src/domain/values.ts'
import type { Session, Snapshot } from '../../../src/store/database.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { countDeployments } from '../../../src/store/read/counts/deployment-counts.ts'
import type { Scope } from '../../../src/store/read/deployment-scope.ts'
import { deploymentsByKey } from '../../../src/store/read/deployments.ts'
import { resolvePast } from '../../../src/store/read/past.ts'
import { type DeviceFilter, pageDevices } from '../../../src/store/read/targets/targets.ts'
import type { Image, Known } from './reference-facts.ts'
import type { createModel } from './reference-model.ts'
import { allDeployments, type Names, readNames, showChange, showDeployment, showModelled } from './reference-shown.ts'

export type Model = ReturnType<typeof createModel>

/** What retention has left. */
export interface Retained {
  readonly tail: number
  readonly tailAt: number
}

/** Of the present. */
export async function expectPresent(snapshot: Snapshot, model: Model): Promise<void> {
  expect((await snapshot.head).revision).toBe(model.revision())
  const names = await readNames(snapshot)
  expect(new Set(names.targets.values())).toEqual(new Set(model.devices.keys()))
  expect(new Set(names.rollouts.values())).toEqual(model.rollouts)
  await expectImages(
    snapshot,
    names,
    null,
    model.all.map(({ image }) => image),
  )
  expect(await audit(snapshot)).toEqual([])
  for (const retired of [false, true]) {
    const listed = [...model.devices.keys()].filter((name) => model.retired.has(name) === retired)
    expect(await deviceNames(snapshot, { retired })).toEqual(listed.toSorted())
  }
  const closed = await allDeployments(snapshot, { retired: true }, null)
  const expected = model.all.filter((known) => isClosed(known, model)).map(({ image }) => image)
  expect(new Set(closed.map((row) => showDeployment(row, names)))).toEqual(new Set(expected))
  const rows = await snapshot.run<{ reporter: string; repeats: number }>(
    'select reporter, repeats from deployments order by key',
  )
  expect(rows).toEqual(model.all.map(({ reporter, repeats }) => ({ reporter, repeats })))
}

/** Forgotten since its device or its reporter is retired. */
function isClosed({ image, reporter }: Known, { retired }: Model): boolean {
  const since = [image.device, reporter].flatMap((name) => retired.get(name)?.at ?? [])
  return image.forgotten && since.some((at) => at <= image.at)
}

async function deviceNames(snapshot: Snapshot, filter: DeviceFilter, asOf: number | null = null): Promise<string[]> {
  const page = { size: 100, after: null, before: null, backward: false }
  const pages = await pageDevices(snapshot, { of: 'fleet' }, filter, page, undefined, asOf)
  return (pages.get(0)?.edges ?? []).map(({ node }) => node.name).toSorted()
}

/** Of the log, and of every moment that it can still tell of. */
export async function expectPast(snapshot: Snapshot, model: Model, { tail, tailAt }: Retained): Promise<void> {
  expect(await snapshot.head).toMatchObject({ tail, tailAt })
  const names = await readNames(snapshot)
  const log = await readLog(snapshot, tail, 10_000)
  const expected = model.log.filter(({ revision }) => revision > tail)
  expect(log.map((change) => showChange(change, names))).toEqual(expected.map(showModelled))

  for (const [revision, images] of model.past) {
    const past = resolvePast(snapshot, { asOf: null, atRevision: String(revision) })
    if (revision < tail) await expectExpired(past)
    else await expectImages(snapshot, names, await past, images)
  }
  // Of each tenth moment, and of the last ones.
  const inside = [...model.pastInside].filter(([revision]) => revision >= tail)
  for (const [index, [revision, devices]] of inside.entries())
    if (index % 10 === 0 || index > inside.length - 4)
      await expectMaintenance(snapshot, revision, devices, model.past.get(revision) ?? [])
  await expectExpired(resolvePast(snapshot, { asOf: null, atRevision: String(model.revision() + 1) }))

  const times = new Set([tailAt, ...model.log.map(({ at }) => at)])
  for (const time of [...times].flatMap((time) => [time - 1, time])) {
    const past = resolvePast(snapshot, { asOf: time, atRevision: null })
    if (time < tailAt) await expectExpired(past)
    else expect(await past).toBe(expected.findLast(({ at }) => at <= time)?.revision ?? tail)
  }
}

async function expectMaintenance(
  snapshot: Snapshot,
  revision: number,
  devices: readonly string[],
  images: readonly Image[],
): Promise<void> {
  const [serving = [], retired = []] = await Promise.all(
    [false, true].map((isRetired) => deviceNames(snapshot, { inMaintenance: true, retired: isRetired }, revision)),
  )
  expect([...serving, ...retired].toSorted()).toEqual(devices.toSorted())
  const counts = await countDeployments(snapshot, { of: 'fleet' }, { inMaintenance: true }, revision)
  expect(counts.get(0)).toEqual(count(images.filter((one) => !one.forgotten && devices.includes(one.device))))
}

/** Every report that was APPLIED or STALE, once. */
export async function expectReports(session: Session, model: Model): Promise<void> {
  expect(await readReports(session)).toEqual(model.kept)
}

export function readReports(session: Session): Promise<Model['kept']> {
  return session.run(
    `select d.number, r.verdict, r.stale_by as "staleBy", r.received_at as "receivedAt", r.revision, r.state
     from reports r join (select key, (row_number() over (order by key) - 1)::int as number from deployments) d
       on d.key = r.deployment_key order by r.key`,
  )
}

/** `images`: by number, forgotten ones too. */
async function expectImages(
  snapshot: Snapshot,
  names: Names,
  asOf: number | null,
  images: readonly Image[],
): Promise<void> {
  const keys = await snapshot.run<{ key: number }>('select key from deployments order by key')
  const byKey = await deploymentsByKey(
    snapshot,
    keys.map(({ key }) => key),
    asOf,
  )
  const rows = keys.flatMap(({ key }) => byKey.get(key) ?? [])
  expect(rows.map((row) => showDeployment(row, names))).toEqual(images)

  const listed = await allDeployments(snapshot, {}, asOf)
  const present = images.filter(({ forgotten }) => !forgotten)
  expect(new Set(listed.map((row) => showDeployment(row, names)))).toEqual(new Set(present))

  const fleet = await countDeployments(snapshot, { of: 'fleet' }, {}, asOf)
  expect(fleet.get(0)).toEqual(count(present))
  await expectCounts({ of: 'rollout', keys: [...names.rollouts.keys()] }, names.rollouts, ({ rollout }) => rollout)
  await expectCounts({ of: 'target', keys: [...names.targets.keys()] }, names.targets, ({ device }) => device)

  async function expectCounts(scope: Scope, parents: ReadonlyMap<number, string>, of: (image: Image) => string) {
    const counts = await countDeployments(snapshot, scope, {}, asOf)
    for (const [key, name] of parents)
      expect(counts.get(key)).toEqual(count(present.filter((image) => of(image) === name)))
  }
}

function count(images: readonly Image[]): Record<Lowercase<DeploymentState>, number> {
  const counts = deploymentStates.map((state) => [
    state.toLowerCase(),
    images.filter((image) => image.state === state).length,
  ])
  return Object.fromEntries(counts)
}

async function expectExpired(past: Promise<unknown>): Promise<void> {
  await expect(past).rejects.toMatchObject({ code: 'HISTORY_EXPIRED' })
}
