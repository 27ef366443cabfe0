/** What is published about the fleet: the retained present of a deployment or a rollout, and changes. Everything is read with the access scope. */
import type { Change } from '../../domain/change.ts'
import { escapeHidden } from '../../domain/look-alike.ts'
import { detailsOf } from '../../domain/nouns/deployment.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { describeChanges, wordOf } from '../../outlets/sinks/change-data.ts'
import type { Session } from '../../store/database.ts'
import { visibleChanges } from '../../store/read/access-scope.ts'
import { countDeployments, stateCountsOf } from '../../store/read/counts/deployment-counts.ts'
import { componentsByKey, type DeploymentRow, deploymentParts, deploymentsByKey } from '../../store/read/deployments.ts'
import { targetNames } from '../../store/read/export/names.ts'
import { type RolloutRow, rolloutsByKey } from '../../store/read/rollouts/rollouts.ts'
import { topicOf } from '../rest/contract/topics.ts'
import { encodeLevel } from './topics.ts'

export interface Publication {
  readonly topic: string
  /** Empty: the retained message is removed. */
  readonly payload: string
  readonly isRetained: boolean
  readonly userProperties?: Readonly<Record<string, string>>
}

/** A deployment that may have to be withdrawn: its topic needs its ID. */
export interface DeploymentSubject {
  readonly key: number
  readonly deploymentId: string
}

const nodeId = (type: string, key: number): string => Buffer.from(`${type}:${key}`).toString('base64url')
const time = (at: Millis | null): string | null => (at === null ? null : new Date(at).toISOString())

/** REMOVED, forgotten and replaced deployments, and those outside the scope, have no retained message. */
export async function presentDeployments(
  session: Session,
  prefix: string,
  subjects: readonly DeploymentSubject[],
): Promise<Publication[]> {
  const keys = subjects.map(({ key }) => key)
  const rows = await deploymentsByKey(session, keys, null)
  const large = [...rows.values()].filter(({ components }) => components === null).map(({ key }) => key)
  const components = large.length === 0 ? new Map() : await componentsByKey(session, large, null)
  const targets = await targetNames(
    session,
    [...rows.values()].map(({ targetKey }) => targetKey),
  )
  const rolloutKeys = [...new Set([...rows.values()].map(({ rolloutKey }) => rolloutKey))]
  const rollouts = await rolloutsByKey(session, rolloutKeys, null)
  return subjects.map(({ key, deploymentId }) => {
    const row = rows.get(key)
    const topic = deploymentTopic(prefix, { key, deploymentId })
    if (!row || !isPresent(row)) return { topic, payload: '', isRetained: true }
    const target = targets.get(row.targetKey)
    const rollout = rollouts.get(row.rolloutKey)
    const body = {
      ...described({ ...row, components: row.components ?? components.get(key) ?? [] }),
      target: target && { kind: target.kind, ...(target.provider && { provider: target.provider }), name: target.name },
      rollout: rollout && { id: nodeId('Rollout', rollout.key), kind: rollout.kind, name: rollout.name },
    }
    return { topic, payload: JSON.stringify(body), isRetained: true }
  })
}

/** The same for any number of deployments, in parts of bounded bytes. Each is read when the one before it was taken. */
export async function* presentInParts(
  session: Session,
  prefix: string,
  subjects: Iterable<DeploymentSubject>,
): AsyncGenerator<Publication[]> {
  const byKey = new Map([...subjects].map((subject) => [subject.key, subject]))
  for (const keys of await deploymentParts(session, [...byKey.keys()])) {
    const part = keys.flatMap((key) => byKey.get(key) ?? [])
    yield await presentDeployments(session, prefix, part)
  }
}

const deploymentTopic = (prefix: string, { key, deploymentId }: DeploymentSubject): string =>
  topicOf(prefix, 'deployment', {
    deploymentId: escapeHidden(encodeLevel(deploymentId)),
    id: nodeId('Deployment', key),
  })

const isPresent = ({ forgottenAt, isCurrent, state }: DeploymentRow): boolean =>
  forgottenAt === null && isCurrent && state !== 'REMOVED'

function described(row: DeploymentRow): object {
  return {
    id: nodeId('Deployment', row.key),
    deploymentId: row.deploymentId,
    reporter: row.reporter,
    state: row.state,
    error: row.error,
    ...detailsOf(row),
    convergence: row.convergence,
    application: row.application,
    applicationVersion: row.applicationVersion,
    adoptedManifestVersion: row.adoptedManifestVersion,
    attempt: row.attempt,
    stalled: row.stalled,
    components: row.components?.map(({ name, state, error, unread }) => ({
      ...{ name, state, error },
      ...(unread !== undefined && { notUnderstood: unread }),
    })),
    reportedAt: time(row.reportedAt),
    changedAt: time(row.changedAt),
    revision: String(row.revision),
  }
}

/** Rollouts outside the scope have no retained message, nor have those without a deployment. */
export async function presentRollouts(
  session: Session,
  prefix: string,
  keys: readonly number[],
): Promise<Publication[]> {
  const rows = await rolloutsByKey(session, keys, null)
  const uncounted = [...rows.values()].filter(({ counters }) => counters === null).map(({ key }) => key)
  const counted =
    uncounted.length === 0 ? new Map() : await countDeployments(session, { of: 'rollout', keys: uncounted }, {}, null)
  return keys.map((key) => {
    const topic = rolloutTopic(prefix, key)
    const row = rows.get(key)
    const counts: Readonly<Record<string, number>> = row?.counters
      ? stateCountsOf(row.counters)
      : (counted.get(key) ?? {})
    const total = Object.values(counts).reduce((sum, n) => sum + n, 0)
    const payload = row && total > 0 ? JSON.stringify({ ...nameOf(row), counts: { total, ...counts } }) : ''
    return { topic, payload, isRetained: true }
  })
}

const rolloutTopic = (prefix: string, key: number): string => topicOf(prefix, 'rollout', { id: nodeId('Rollout', key) })

/** Those of the topics that have a retained message. */
export async function presentTopics(
  session: Session,
  prefix: string,
  topics: readonly string[],
): Promise<ReadonlySet<string>> {
  const keys = (type: 'Deployment' | 'Rollout') => topics.flatMap((topic) => keyIn(type, topic) ?? [])
  const present: string[] = []
  for (const part of await deploymentParts(session, keys('Deployment'))) {
    const rows = await deploymentsByKey(session, part, null)
    present.push(...[...rows.values()].filter(isPresent).map((row) => deploymentTopic(prefix, row)))
  }
  const rollouts = await presentRollouts(session, prefix, keys('Rollout'))
  return new Set([...present, ...rollouts.filter(({ payload }) => payload !== '').map(({ topic }) => topic)])
}

/** The key in the last level of a topic, where it is the ID of that type. */
function keyIn(type: string, topic: string): number | null {
  const id = Buffer.from(topic.slice(topic.lastIndexOf('/') + 1), 'base64url').toString('latin1')
  return id.startsWith(`${type}:`) && /^\d{1,15}$/.test(id.slice(type.length + 1))
    ? Number(id.slice(type.length + 1))
    : null
}

function nameOf({ key, kind, name, project, compositeApp, compositeAppVersion, provider }: RolloutRow): object {
  const parts = { project, compositeApp, compositeAppVersion, provider }
  return { id: nodeId('Rollout', key), kind, name, ...parts }
}

/** One message for each change that the scope shows, in order. */
export async function describeVisible(
  database: { readonly session: Session },
  scoped: Session,
  prefix: string,
  changes: readonly Change[],
): Promise<Publication[]> {
  const visible = (await visibleChanges(scoped, changes)).flatMap(({ change }) => change ?? [])
  const described = await describeChanges(database.session, visible, scoped)
  return visible.map(({ kind, revision }, index) => ({
    topic: topicOf(prefix, 'change', { kind: wordOf(kind) }),
    payload: JSON.stringify(described[index]),
    isRetained: false,
    userProperties: { revision: String(revision), kind },
  }))
}

/** The changes in between are no longer stored. */
export function resetOf(prefix: string, from: Revision, until: Revision): Publication {
  const payload = JSON.stringify({ reason: 'CURSOR_EXPIRED', from: String(from), to: String(until) })
  return {
    topic: topicOf(prefix, 'reset', {}),
    payload,
    isRetained: false,
    userProperties: { revision: String(until) },
  }
}
