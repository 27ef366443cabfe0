/** A fleet's random but repeatable life, written by the writer: what the reads are held against. */
import type { Change } from '../../../src/domain/change.ts'
import type { Deployment, DeploymentImage } from '../../../src/domain/deployment.ts'
import { imageAt } from '../../../src/domain/fold.ts'
import type { StatusReport } from '../../../src/domain/report.ts'
import { type DeploymentState, deploymentStates, type Millis, type Revision } from '../../../src/domain/values.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { createWriter, type Writer } from '../../../src/ingest/writer.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database, Session, Snapshot } from '../../../src/store/database.ts'
import { type DeploymentRecord, toDeployment } from '../../../src/store/sql/rows.ts'

export interface Moment {
  readonly revision: Revision
  readonly at: Millis
  /** Every deployment as it was then, forgotten ones too. */
  readonly deployments: readonly Deployment[]
}

export interface Life {
  readonly moments: readonly Moment[]
  readonly submit: Writer['submit']
}

export const devices = ['alpha', 'beta', 'gamma', 'gw', 'gw/one', 'gw/two'] as const
export const deploymentIds = ['web', 'db', 'Cache', 'queue', 'auth'] as const
export const componentNames = ['api', 'ui', 'job'] as const
export const errorCodes = ['101', '102', 'E_Disk'] as const

export function liveBy(
  database: Database,
  since: Millis = Date.now(),
): Pick<Life, 'submit'> & { tick(by: Millis): void } {
  let now = since
  const writer = createWriter({
    database,
    committed: () => {},
    isTransient: () => false,
    checkIdentity: async () => {},
    clock: () => now,
  })
  return {
    submit: writer.submit,
    tick(by) {
      now += by
    },
  }
}

export async function live(
  database: Database,
  seed: number,
  steps: number,
  after: (step: number) => Promise<unknown> = async () => {},
  nextAct: NextAct = randomAct,
): Promise<Life> {
  const pick = pickerOf(seed)
  // The log's time never decreases: begin where it is.
  const { at } = await readHead(database.session)
  const { submit, tick } = liveBy(database, Math.max(at + 1_000, Date.now()))
  const moments: Moment[] = []
  for (let step = 0; step < steps; step += 1) {
    tick(pick.number(3) * 700)
    const known = moments.at(-1)?.deployments ?? []
    const commands = Array.from({ length: 1 + pick.number(3) }, () => nextAct(pick, known))
    await Promise.all(commands.map((act) => act(submit)))
    moments.push(await readMoment(database.session))
    await after(step)
  }
  return { moments, submit }
}

async function readMoment(session: Session): Promise<Moment> {
  const rows = await session.run<DeploymentRecord>('select * from deployments order by key')
  const { revision, at } = await readHead(session)
  return { revision, at, deployments: rows.map(toDeployment) }
}

export type Act = (submit: Writer['submit']) => Promise<unknown>
export type NextAct = (pick: Picker, known: readonly Deployment[]) => Act

/** Of a fleet of devices without orchestrators and without documents. */
export function randomAct(pick: Picker, known: readonly Deployment[]): Act {
  const roll = pick.number(20)
  if (roll === 0 && known.length > 0) {
    const { key } = pick.one(known)
    return (submit) => submit(forgetDeployments([key]))
  }
  if (roll === 1) {
    const labels = [
      { key: 'site', value: pick.one(['north', 'south']) },
      ...(pick.flip() ? [{ key: 'line', value: '1' }] : []),
    ]
    const name = pick.flip() ? null : `Press "${pick.number(3)}"`
    const device = { deviceId: pick.one(devices), name, labels, parent: null, expectedInterval: null }
    const tokenHash = `hash${pick.number(1e9)}`
    return (submit) => submit(registerDevices([{ ...device, tokenHash }]))
  }
  if (roll < 5) return randomDeclaration(pick)
  const report = randomReport(pick)
  return (submit) => submit(recordReport(report))
}

function randomDeclaration(pick: Picker): Act {
  const rollout = pick.flip() ? { name: pick.one(['spring', 'summer']), project: pick.one([null, 'plant']) } : null
  const deployments = Array.from({ length: 1 + pick.number(3) }, () => ({
    deviceId: pick.one(devices),
    deploymentId: pick.one(deploymentIds),
    application: pick.one([null, 'shop', 'Till%']),
    applicationVersion: pick.one([null, '1.0', '1.1']),
    components: pick.flip() ? null : componentNames.filter(() => pick.flip()),
  }))
  return (submit) => submit(declareDeployments(rollout, deployments))
}

export function randomReport(pick: Picker): StatusReport {
  const reporter = pick.one(['alpha', 'beta', 'gamma', 'gw'])
  const deviceId = reporter === 'gw' && pick.number(3) > 0 ? pick.one(['gw/one', 'gw/two']) : null
  const error = (state: DeploymentState) =>
    state === 'FAILED' || pick.number(6) === 0
      ? { code: pick.one(errorCodes), message: `disk_full on ${pick.number(3)}` }
      : null
  const state = pick.one(deploymentStates)
  return {
    reporter,
    deploymentId: pick.one(deploymentIds),
    deviceId,
    state,
    error: error(state),
    components: componentNames.flatMap((name) => {
      const component = pick.one(deploymentStates)
      return pick.flip() ? [{ name, state: component, error: error(component) }] : []
    }),
    adoptedManifestVersion: null,
    seq: pick.flip() ? String(pick.number(6)) : null,
    boot: null,
    observedAt: null,
    dialect: 'margo/test',
  }
}

export interface Picker {
  /** 0 ≤ n < below. */
  number(below: number): number
  one<T>(list: readonly T[]): T
  flip(): boolean
}

/** mulberry32. */
export function pickerOf(seed: number): Picker {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const number = (below: number): number => Math.floor(next() * below)
  return {
    number,
    one<T>(list: readonly T[]): T {
      const item = list[number(list.length)]
      if (item === undefined) throw new Error('there is nothing to pick from')
      return item
    },
    flip: () => next() < 0.5,
  }
}

/** The statements that a session was asked. */
export function watched<S extends Session>(session: S): { readonly session: S; readonly statements: unknown[] } {
  const statements: unknown[] = []
  const rows: Session['rows'] = (query) => {
    statements.push(query)
    return session.rows(query)
  }
  const run: Session['run'] = (text, parameters) => {
    statements.push(text)
    return session.run(text, parameters)
  }
  return { session: { ...session, rows, run }, statements }
}

export async function inSnapshot<T>(database: Database, read: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const snapshot = await database.snapshot()
  try {
    return await read(snapshot)
  } finally {
    await snapshot.close()
  }
}

/**
 * The log replayed: every deployment that it tells of, as it was at that revision. From nothing, one change after
 * the other: `before` plays no part in it.
 */
export function foldAll(changes: readonly Change[], until: Revision): Map<number, DeploymentImage> {
  const images = new Map<number, DeploymentImage>()
  for (const change of changes) {
    if (change.revision > until || change.deploymentKey === null || change.resourceKey !== null) continue
    const { deploymentKey, targetKey, rolloutKey, instanceKey, revision: firstRevision, at, observedAt } = change
    const entry = {
      firstRevision,
      at,
      observedAt,
      targetKey: targetKey ?? 0,
      rolloutKey: rolloutKey ?? 0,
      instanceKey,
      changes: [change],
    }
    const image = imageAt(images.get(deploymentKey) ?? null, entry, firstRevision)
    if (image) images.set(deploymentKey, image)
  }
  return images
}
