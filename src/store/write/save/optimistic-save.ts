/**
 * Writes a batch in one statement that is its own transaction. Nearly all batches are reports of devices, which fit. The statement first moves
 * the head, and only if the head is where the batch began: its predecessor wrote last, and no other server since. Everything else is executed
 * only if the head moved: all of it, or none. So the statement need not wait for the answer to its predecessor, and is harmless if it is late
 * or sent twice.
 *
 * Where other servers hand batches over, a second statement notifies them. PostgreSQL holds one lock for all notifications from before COMMIT
 * is on the disk until after it. In the same transaction, the messages of all other servers would wait for the disk.
 */
import { getTableColumns } from 'drizzle-orm'
import type { Deployment } from '../../../domain/deployment.ts'
import { detailNames } from '../../../domain/nouns/deployment.ts'
import { doorbellText } from '../../database.ts'
import { updateOf, type Write } from '../../sql/record-set.ts'
import { deployments } from '../../tables/schema.ts'
import { batchRows, isWrittenIn, messagesOf, namesIn, stampOf, tellIn } from '../batches.ts'
import type { BatchName, DecidedBatch, Loaded, Statement, Touch } from '../contract.ts'
import type { LockedHead } from '../load/load.ts'
import { spendSignatures } from '../tokens.ts'
import {
  addDeviations,
  changedIn,
  countRollouts,
  deploymentWrites,
  entryRows,
  headRow,
  headWidth,
  insertEntries,
  insertPast,
  insertReports,
  insertRollouts,
  knownRolloutDeltas,
  moveHead,
  newRollouts,
  pastRows,
  recordBatches,
  reportRow,
  targetWrites,
} from './save.ts'
import { lookAlikesIn, noteLookAlikes } from './save-look-alikes.ts'

/** The columns of a deployment that a report changes. The others stay. */
const reportedFields: readonly string[] = [
  'state',
  'derivedState',
  'consistent',
  'error',
  ...detailNames,
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

interface Part {
  readonly write: Write<object>
  readonly parameters: readonly string[]
}

/** Texts of statements by their writes. The database prepares each once. */
const texts = new Map<string, string>()
const numbers = new Map<Write<object>, number>()

function textOf(writes: readonly Write<object>[], isHanded: boolean): string {
  const id = `${writes.map(numberOf).join()} ${isHanded}`
  const text = texts.get(id) ?? buildText(writes, isHanded)
  texts.set(id, text)
  return text
}

function numberOf(write: Write<object>): number {
  const number = numbers.get(write) ?? numbers.size
  numbers.set(write, number)
  return number
}

function buildText(writes: readonly Write<object>[], isHanded: boolean): string {
  let next = headWidth + 1
  const written = writes.map((write, index) => {
    const first = next
    next += write.width
    return `part${index} as (${write.textFrom(first, 'head')})`
  })
  const [count, stamp, newest, handed] = [next, next + 1, next + 2, next + 3]
  const guard = isHanded ? ` and not ${isWrittenIn(handed)}` : ''
  return `with head as (${moveHead} and writes = $${count}::bigint and stamp = $${stamp}${guard} returning id), ${written.join(', ')}
    select case when $${newest}::text is not null then pg_notify(${doorbellText}, $${newest}) end as told from head`
}

/** One statement writes the batch, and the other notifies the servers. Null: the first does both. */
interface OptimisticSave {
  readonly save: Statement
  readonly notify: Statement | null
}

/** Notifies only if the statement before it on the connection wrote the batch: a later attempt has a greater number. */
const notifyOf = `select case when $3::text is not null then pg_notify(${doorbellText}, $3) end as told, ${tellIn(4)} as answered
  from batches where id = $1 and outcomes->>'batch' = $2`

/** Null: the batch has other writes. The first statement returns one row if it was executed, and none if it was not. */
export function saveOptimistically(
  before: LockedHead,
  loaded: Loaded,
  decided: DecidedBatch,
  name: BatchName,
  hasFollowers: boolean,
): OptimisticSave | null {
  const { effects, answers, statements, spent } = decided
  const isPlain =
    statements.length === 0 &&
    [...effects.rollouts.values()].every(({ isNew }) => isNew) &&
    effects.rolloutLabels.length === 0 &&
    isNothing(effects.orchestration) &&
    isNothing(effects.desired) &&
    isNothing(effects.alerts) &&
    isNothing(effects.sites)
  if (!isPlain) return null
  const known = new Map(loaded.deployments.map((deployment) => [deployment.key, deployment]))
  const targets = Map.groupBy(effects.targets.values(), ({ touch }) => touch)
  const deployments = Map.groupBy(effects.deployments.values(), ({ row, touch }) =>
    touch === 'changed' && isOnlyReported(known.get(row.key), row) ? 'reported' : touch,
  )
  const partOf = <Row extends object>(write: Write<Row>, rows: readonly Row[]): Part[] => [
    { write: write as Write<object>, parameters: write.parameters(rows) },
  ]
  /** Omits a part without rows: most batches have none, and must not pay for it. */
  const rare = <Row extends object>(write: Write<Row>, rows: readonly Row[]): Part[] =>
    rows.length === 0 ? [] : partOf(write, rows)
  const targetRows = (touch: Touch): object[] => targets.get(touch)?.map(({ row }) => changedIn(before, row)) ?? []
  const deploymentRows = (touch: Touch | 'reported'): object[] =>
    deployments.get(touch)?.map(({ row, repeats }) => ({ ...row, repeats })) ?? []
  const { among, sought } = lookAlikesIn(effects)
  const parts = [
    ...partOf(targetWrites.heard, targetRows('heard')),
    ...partOf(saveReported, deploymentRows('reported')),
    ...partOf(deploymentWrites.heard, deploymentRows('heard')),
    ...partOf(countRollouts, knownRolloutDeltas(effects)),
    ...partOf(insertEntries, entryRows(effects)),
    ...partOf(insertReports, effects.reports.map(reportRow)),
    ...partOf(recordBatches, batchRows(name, answers, effects)),
    ...rare(insertPast, pastRows(effects)),
    ...rare(targetWrites.created, targetRows('created')),
    ...rare(targetWrites.changed, targetRows('changed')),
    ...rare(insertRollouts, newRollouts(before, effects)),
    ...rare(deploymentWrites.created, deploymentRows('created')),
    ...rare(deploymentWrites.changed, deploymentRows('changed')),
    ...rare(addDeviations, [...effects.deviations, ...among]),
    ...rare(noteLookAlikes, sought),
    ...rare(spendSignatures, spent),
  ]
  const isHanded = answers.length > 0
  const isApart = isHanded || hasFollowers
  const newest = effects.revision > before.revision ? String(effects.revision) : null
  const parameters = [
    ...headRow(effects, stampOf(name)),
    ...parts.flatMap((part) => part.parameters),
    before.writes,
    before.stamp,
    isApart ? null : newest,
    ...(isHanded ? namesIn(answers) : []),
  ]
  const text = textOf(
    parts.map(({ write }) => write),
    isHanded,
  )
  const toNotify = [name.writer, String(name.batch), newest, ...messagesOf(answers, effects)]
  return { save: { text, parameters }, notify: isApart ? { text: notifyOf, parameters: toNotify } : null }
}

function isOnlyReported(before: Deployment | undefined, after: Deployment): boolean {
  return before !== undefined && otherFields.every((field) => before[field] === after[field])
}

function isNothing(effects: object): boolean {
  return Object.values(effects).every((list: Iterable<unknown>) => [...list].length === 0)
}
