/**
 * A batch in one statement that is its own transaction, for what nearly all batches are: reports of deployments that are known. It
 * moves the head first, and only if that is where the batch began: it was the batch's predecessor that wrote last, and nobody since.
 * Everything else it does once for each head that was moved: as it should, or not at all. So it need not wait until its predecessor is
 * answered, and does no harm when it comes late or is sent twice.
 */
import { getTableColumns } from 'drizzle-orm'
import type { Deployment } from '../../domain/deployment.ts'
import { doorbellChannel } from '../database.ts'
import { updateOf, type Write } from '../sql/record-set.ts'
import { deployments } from '../tables/schema.ts'
import type { Effects, Loaded, Statement } from './contract.ts'
import type { LockedHead } from './load.ts'
import {
  addDeviations,
  type BatchName,
  countRollouts,
  deploymentWrites,
  entryRow,
  headRow,
  headWidth,
  insertEntries,
  insertReports,
  keepName,
  moveHead,
  nameRow,
  reportRow,
  rolloutDeltas,
  stampOf,
  targetWrites,
} from './save.ts'

/** What a report says of a deployment, and what follows from it. The rest of its row stays as it is. */
const reportedFields: readonly string[] = [
  'state',
  'derivedState',
  'consistent',
  'error',
  'failureStage',
  'components',
  'attempt',
  'adoptedManifestVersion',
  'convergence',
  'stalled',
  'reportedAt',
  'receivedAt',
  'changedAt',
  'revision',
  'marks',
]
const otherFields = Object.keys(getTableColumns(deployments)).filter(
  (field) => !reportedFields.includes(field) && field !== 'repeats',
) as (keyof Deployment)[]
const saveReported: Write<object> = updateOf(deployments, {
  set: (field) => reportedFields.includes(field),
  add: ['repeats'],
})

/** In the order of their parameters. */
const parts: readonly Write<object>[] = [
  targetWrites.heard,
  saveReported,
  deploymentWrites.heard,
  countRollouts,
  insertEntries,
  insertReports,
  keepName,
]

function textOf(parts: readonly Write<object>[]): string {
  let next = headWidth + 1
  const written = parts.map((part, index) => {
    const first = next
    next += part.width
    return `part${index} as (${part.textFrom(first, 'head')})`
  })
  const [writes, stamp, newest] = [next, next + 1, next + 2]
  return `with head as (${moveHead} and writes = $${writes}::bigint and stamp = $${stamp} returning id), ${written.join(', ')}
    select case when $${newest}::text is not null then pg_notify('${doorbellChannel}', $${newest}) end as told from head`
}

const text = textOf(parts)
/** Conforming reports do not pay for the others: they have a statement without that part. */
const deviatingText = textOf([...parts, addDeviations])

/** Null: it is more than that. The statement answers with one row if it was done, with none if it was not. */
export function saveOptimistically(
  before: LockedHead,
  loaded: Loaded,
  effects: Effects,
  name: BatchName,
): Statement | null {
  const targets = [...effects.targets.values()]
  const touched = [...effects.deployments.values()]
  const known = new Map(loaded.deployments.map((deployment) => [deployment.key, deployment]))
  const isPlain =
    targets.every(({ touch }) => touch === 'heard') &&
    touched.every(({ row }) => isOnlyReported(known.get(row.key), row)) &&
    effects.rollouts.size === 0 &&
    isNothing(effects.orchestration) &&
    isNothing(effects.desired)
  if (!isPlain) return null
  const save = (part: Write<object>, all: readonly { readonly row: Deployment; readonly repeats: number }[]) =>
    part.parameters(
      all.map(({ row }) => row),
      { repeats: all.map(({ repeats }) => repeats) },
    )
  const isDeviating = effects.deviations.length > 0
  const written = [
    ...targetWrites.heard.parameters(targets.map(({ row }) => row)),
    ...save(
      saveReported,
      touched.filter(({ touch }) => touch === 'changed'),
    ),
    ...save(
      deploymentWrites.heard,
      touched.filter(({ touch }) => touch === 'heard'),
    ),
    ...countRollouts.parameters(rolloutDeltas(effects)),
    ...insertEntries.parameters(effects.entries.map((entry) => entryRow(entry, effects.at))),
    ...insertReports.parameters(effects.reports.map(reportRow)),
    ...keepName.parameters([nameRow(name, effects.at)]),
    ...(isDeviating ? addDeviations.parameters(effects.deviations) : []),
  ]
  const newest = effects.revision > before.revision ? String(effects.revision) : null
  const parameters = [...headRow(effects, stampOf(name)), ...written, before.writes, before.stamp, newest]
  return { text: isDeviating ? deviatingText : text, parameters }
}

function isOnlyReported(before: Deployment | undefined, after: Deployment): boolean {
  return before !== undefined && otherFields.every((field) => before[field] === after[field])
}

function isNothing(effects: object): boolean {
  return Object.values(effects).every((list: Iterable<unknown>) => [...list].length === 0)
}
