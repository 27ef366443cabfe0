/**
 * The second half of the writer's SQL: saves the changes of a batch, in one statement a table for any number of reports.
 * The statements do not wait for each other's answers; the transaction is the caller's.
 */

import { counters, isCounted, zeroCounters } from '../../../domain/counters.ts'
import type { ResourceImage } from '../../../domain/orchestration/resource.ts'
import type { Target } from '../../../domain/target.ts'
import { storableJson } from '../../../domain/text.ts'
import { noMarks } from '../../../domain/transition/order.ts'
import { paced } from '../../../platform/limits/pace.ts'
import { sharedSlices } from '../../../platform/limits/slices.ts'
import { doorbellText, type Session } from '../../database.ts'
import { insertOf, iso, updateOf, type Write } from '../../sql/record-set.ts'
import { storedUniqueName } from '../../sql/rollout-unique-name.ts'
import { recordOfFields } from '../../sql/row-mapping.ts'
import {
  batches,
  changeLog,
  deployments,
  deviceDeviations,
  logHead,
  pastDeployments,
  reports,
  resources,
  rollouts,
  targets,
} from '../../tables/schema.ts'
import { batchRows, messagesOf, stampOf, tellIn } from '../batches.ts'
import type { BatchName, DecidedBatch, Effects, Entry, Head, KeptReport, RolloutLife, Touch } from '../contract.ts'
import { isFoundAlike } from '../derived/found-by.ts'
import type { LockedHead } from '../load/load.ts'
import { spendSignatures } from '../tokens.ts'
import { type Put, putRows, putText } from './put.ts'
import { putAlerts } from './save-alerts.ts'
import { putDesired } from './save-desired.ts'
import { lookAlikesIn, noteLookAlikes } from './save-look-alikes.ts'
import { putOrchestration } from './save-orchestration.ts'
import { putRolloutLabels } from './save-rollout-labels.ts'
import { putSites } from './save-sites.ts'

const keyFields = ['key', 'kind', 'provider', 'name', 'foldedName', 'deploymentId'] as const
const isKeyField = (field: string): boolean => (keyFields as readonly string[]).includes(field)

export const targetWrites: Record<Touch, Write<object>> = {
  created: insertOf(targets),
  changed: updateOf(targets, { set: (field) => !isKeyField(field) && field !== 'createdRevision' }),
  heard: updateOf(targets, { set: (field) => field === 'lastHeardAt' || field === 'connectionOrder' }),
}
const heardFields: readonly string[] = [
  'reporter',
  'declaredComponents',
  'claimed',
  'reportedAt',
  'receivedAt',
  'marks',
]
export const deploymentWrites: Record<Touch, Write<object>> = {
  created: insertOf(deployments),
  changed: updateOf(deployments, { set: (field) => !isKeyField(field), add: ['repeats'] }),
  heard: updateOf(deployments, { set: (field) => heardFields.includes(field), add: ['repeats'] }),
}
/** Each reporter by its index: a planner without statistics would read the whole table. */
const clearMarks = `update deployments d set marks = $2::json from (
    select n.key from json_array_elements_text($1::text::json) x
    cross join lateral (select n.deployment_key as key from deployment_names n where n.reporter = x and not n.is_remote offset 0) n) x
  where d.key = x.key`
export const insertRollouts = insertOf(rollouts)
const reviseRollouts = updateOf(rollouts, {
  set: (field) => ['compositeProfile', 'state', 'status', 'currentInstanceKey'].includes(field),
})
export const countRollouts = updateOf(rollouts, {
  set: (field) => field === 'changedRevision' || field === 'changedAt',
  add: counters,
  first: ['startedRevision', 'startedAt'],
  last: ['activityRevision', 'activityAt'],
})
export const insertEntries = insertOf(changeLog, { except: ['size'] })
export const insertPast = insertOf(pastDeployments)
export const insertReports = insertOf(reports)
export const addDeviations = insertOf(deviceDeviations, {
  more: `on conflict (target_key, kind) do update set count = device_deviations.count + excluded.count,
    last_at = excluded.last_at, example = excluded.example`,
})
export const recordBatches = insertOf(batches, {
  more: 'on conflict (id) do update set at = excluded.at, outcomes = excluded.outcomes',
})
/** Parameters $1 to $4 are fixed. One for each counter follows. */
export const moveHead = `update log_head set revision = $1::bigint, at = $2::timestamptz, next_key = $3::bigint, stamp = $4, writes = writes + 1,
  ${counters
    .map((counter) => logHead[counter].name)
    .map((column, i) => `${column} = ${column} + $${i + 5}::int`)
    .join(', ')} where id = 1`

export const headWidth = 4 + counters.length

export function headRow(effects: Effects, stamp: string): readonly unknown[] {
  const fleetDelta = counters.map((counter) => effects.fleetDelta[counter])
  return [effects.revision, iso(effects.at), effects.nextKey, stamp, ...fleetDelta]
}

const toResourceImage = recordOfFields<typeof resources, ResourceImage>(resources, [
  'version',
  'namespace',
  'sync',
  'presence',
  'readiness',
  'reason',
  'message',
  'showable',
  'changedAt',
  'revision',
  'goneAt',
])

/** A server above looks for targets by the batch that changed them. */
export function changedIn({ writes }: LockedHead, target: Target): object {
  return { ...target, changedWrite: writes + 1 }
}

export async function saveBatch(
  session: Session,
  before: LockedHead,
  decided: DecidedBatch,
  name: BatchName,
): Promise<void> {
  const sent: Promise<unknown>[] = []
  for (const put of putsOf(before, decided, name)) {
    const { text, parameters } = await paced(put, sharedSlices, 'writer')
    const answer = session.run(text, parameters)
    // The first failure is thrown below.
    answer.catch(() => undefined)
    sent.push(answer)
  }
  await Promise.all(sent)
}

function* putsOf(
  before: LockedHead,
  { effects, answers, statements, spent }: DecidedBatch,
  name: BatchName,
): Iterable<Put> {
  yield* putTouched(
    targetWrites,
    [...effects.targets.values()].map(({ row, touch }) => ({ touch, row: changedIn(before, row) })),
  )
  yield* putRows(insertRollouts, newRollouts(before, effects))
  yield* putRows(
    reviseRollouts,
    [...effects.rollouts.values()].filter(({ isNew }) => !isNew).map(({ row }) => row),
  )
  yield* putRolloutLabels(effects.rolloutLabels)
  yield* putOrchestration(effects.orchestration)
  yield* putDesired(effects.desired, effects.at)
  yield* putAlerts(effects.alerts, effects.at)
  yield* putSites(effects.sites)
  // Before the deployments: those that the batch reports later have new marks.
  if (effects.clearedMarks.size > 0) {
    const parameters = [storableJson([...effects.clearedMarks]), storableJson(noMarks)]
    yield putText({ text: clearMarks, parameters })
  }
  yield* putTouched(
    deploymentWrites,
    [...effects.deployments.values()].map(({ row, repeats, touch }) => ({ touch, row: { ...row, repeats } })),
  )
  yield* putRows(countRollouts, knownRolloutDeltas(effects))
  yield* putRows(insertEntries, entryRows(effects))
  yield* putRows(insertPast, pastRows(effects))
  yield* putRows(insertReports, effects.reports.map(reportRow))
  const { among, sought } = lookAlikesIn(effects)
  yield* putRows(addDeviations, [...effects.deviations, ...among])
  yield* putRows(noteLookAlikes, sought)
  yield* putRows(recordBatches, batchRows(name, answers, effects))
  yield* putRows(spendSignatures, spent)
  for (const statement of statements) yield putText(statement)
  yield putText({ text: moveHead, parameters: headRow(effects, stampOf(name)) })
  if (effects.revision > before.revision)
    yield putText({ text: `select pg_notify(${doorbellText}, $1)`, parameters: [String(effects.revision)] })
  if (answers.length > 0) yield putText({ text: `select ${tellIn(1)}`, parameters: messagesOf(answers, effects) })
}

function* putTouched(
  writes: Record<Touch, Write<object>>,
  rows: readonly { readonly touch: Touch; readonly row: object }[],
): Iterable<Put> {
  for (const touch of ['created', 'changed', 'heard'] as const)
    yield* putRows(
      writes[touch],
      rows.filter((row) => row.touch === touch).map(({ row }) => row),
    )
}

/** Updates rollouts that existed before, because one statement cannot update what it inserts. */
export function knownRolloutDeltas({ rolloutDeltas, rolloutLives, rollouts, at }: Effects): object[] {
  return [...rolloutLives]
    .filter(([key]) => !rollouts.get(key)?.isNew)
    .map(([key, life]) => ({ key, ...(rolloutDeltas.get(key) ?? zeroCounters()), ...lifeOf(life, at) }))
}

/** Of a rollout that was created at this revision. */
function lifeFrom(createdRevision: number, life: RolloutLife | undefined): RolloutLife {
  const { startedRevision = null, activityRevision = null, changedRevision = createdRevision } = life ?? {}
  return { startedRevision, activityRevision: activityRevision ?? createdRevision, changedRevision }
}

function lifeOf({ startedRevision, activityRevision, changedRevision }: RolloutLife, at: number): object {
  return {
    startedRevision,
    startedAt: startedRevision === null ? null : at,
    activityRevision,
    activityAt: activityRevision === null ? null : at,
    changedRevision,
    changedAt: at,
  }
}

export function newRollouts(before: Head, { rollouts, rolloutDeltas, rolloutLives, revision, at }: Effects): object[] {
  // The batch's first revision: its deployments must not be older than their rollout.
  const createdRevision = Math.min(before.revision + 1, revision)
  return [...rollouts.values()]
    .filter(({ isNew }) => isNew)
    .map(({ row }) => ({
      ...row,
      identity: storedUniqueName(row),
      createdRevision,
      createdAt: at,
      ...lifeOf(lifeFrom(createdRevision, rolloutLives.get(row.key)), at),
      ...(rolloutDeltas.get(row.key) ?? zeroCounters()),
    }))
}

export function entryRows({ entries, at }: Effects): object[] {
  return entries.map((entry) => entryRow(entry, at))
}

function entryRow(
  { subject, before, after, changes, firstRevision, observedAt, traceparent }: Entry,
  at: number,
): object {
  const known = before && 'deployment' in before ? before.deployment : null
  const from = known && isCounted(known) ? known : null
  const to = after && isCounted(after) ? after : null
  return {
    deploymentKey: subject.deploymentKey,
    resourceKey: subject.resourceKey,
    rolloutKey: subject.rolloutKey,
    fromRolloutKey: subject.fromRolloutKey,
    instanceKey: subject.instanceKey,
    targetKey: subject.target?.key ?? null,
    fromTargetKey: subject.fromTarget?.key ?? null,
    firstRevision,
    lastRevision: firstRevision + changes.length - 1,
    at,
    observedAt,
    traceparent,
    before: before && 'resource' in before ? toResourceImage(before.resource) : null,
    fromState: from?.state ?? null,
    fromConvergence: from?.convergence ?? null,
    toState: to?.state ?? null,
    toConvergence: to?.convergence ?? null,
    foundByChanged: after !== null && !(known && isFoundAlike(known, after, subject.target?.name ?? null)),
    changes,
  }
}

/** The states of deployments that end with the batch's entries. */
export function pastRows({ entries }: Effects): object[] {
  return entries.flatMap(({ before, firstRevision }) =>
    before && 'deployment' in before ? [{ ...before.deployment, until: firstRevision }] : [],
  )
}

export function reportRow({ report, place, ...kept }: KeptReport): object {
  const { deploymentKey, key, verdict, staleBy, receivedAt, revision } = kept
  return {
    deploymentKey,
    key,
    verdict,
    staleBy,
    reportedAt: report.observedAt,
    receivedAt,
    seq: report.seq,
    boot: report.boot,
    adoptedManifestVersion: report.adoptedManifestVersion,
    state: report.state,
    error: report.error,
    components: verdict === 'STALE' ? report.components : null,
    targetKey: place?.targetKey ?? null,
    rolloutKey: place?.rolloutKey ?? null,
    revision,
    dialect: report.dialect,
  }
}
