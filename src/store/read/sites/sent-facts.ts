/**
 * The entries of the log that a server of a site sends to the one above it. Those of resources, instances, actions, labels of rollouts, alerts and plans of
 * maintenance stay at the site: the cursor passes them.
 */
import { sql } from 'drizzle-orm'
import type { ChangeBody } from '../../../domain/change.ts'
import type { RolloutName } from '../../../domain/rollout.ts'
import type { SiteFact, SiteReport } from '../../../domain/sites/batch.ts'
import type { DeploymentState, Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { isAnyOf } from '../../sql/parameters.ts'
import { untilBytes } from '../../sql/parts.ts'
import { type ReportRecord, toReport } from '../../sql/rows.ts'
import { changeLog, deployments, reports } from '../../tables/schema.ts'
import { rolloutNames } from '../export/names.ts'

export interface SentFacts {
  readonly facts: readonly SiteFact[]
  /** The last revision of the last entry that was read, sent or not. Null: there are none after the cursor. */
  readonly upTo: Revision | null
  /** The key of the newest report among them. */
  readonly newestReport: number
}

interface FactsQuery {
  /** A revision that ends an entry. */
  readonly after: Revision
  readonly most: number
  /** The reports of later entries have greater keys: a deployment may have thousands. */
  readonly reportsAfter: number
  /** Deployments that are named, besides those of which it is the first fact. */
  readonly unknown: ReadonlySet<number>
}

interface EntryRecord {
  readonly first_revision: Revision
  readonly last_revision: Revision
  readonly at: Millis
  readonly observed_at: Millis | null
  readonly traceparent: string | null
  readonly deployment_key: number | null
  readonly target_key: number | null
  readonly from_target_key: number | null
  readonly rollout_key: number | null
  readonly from_rollout_key: number | null
  readonly from_state: DeploymentState | null
  /** Null: it stays at the site. */
  readonly changes: readonly ChangeBody[] | null
}

type FoundRecord = EntryRecord & { readonly [Column in (typeof reportColumns)[number] as `report_${Column}`]: unknown }

const reportColumns = [
  'key',
  'verdict',
  'stale_by',
  'received_at',
  'adopted_manifest_version',
  'seq',
  'boot',
  'dialect',
] as const
const selectedReport = sql.raw(reportColumns.map((column) => `report.${column} as report_${column}`).join(', '))

const isSent = sql`resource_key is null and (deployment_key is not null or target_key is not null)`
/** Bytes of an entry besides its changes. */
const beside = 100

/** The next entries: at most `most`, and fewer if they are large. */
export async function factsAfter(session: Session, query: FactsQuery): Promise<SentFacts> {
  const { after, most, reportsAfter, unknown } = query
  const entries = sql`select first_revision, last_revision, at, observed_at, traceparent, deployment_key, target_key, from_target_key, rollout_key,
      from_rollout_key, from_state, case when ${isSent} then changes end as changes, case when ${isSent} then size + ${beside}::int else 1 end as sent_size
    from ${changeLog} where ${changeLog.firstRevision} > ${after}::bigint order by ${changeLog.firstRevision} limit ${most}`
  const rows = await session.rows<FoundRecord>(
    sql`select entry.*, ${selectedReport}
      from (select part.* ${untilBytes(entries, sql`sent_size`, sql`first_revision`)}) as entry
      left join lateral (select * from ${reports}
        where ${reports.deploymentKey} = entry.deployment_key and ${reports.key} > ${reportsAfter}::bigint
          and ${reports.revision} = entry.last_revision and entry.changes is not null
        order by ${reports.key} limit 1) as report on true
      order by entry.first_revision`,
  )
  const named = rows.filter((row) => isNamed(row, unknown))
  const keysOf = (key: 'deployment_key' | 'rollout_key', some: readonly EntryRecord[]): number[] => [
    ...new Set(some.flatMap((row) => row[key] ?? [])),
  ]
  const names = await deploymentsNamed(session, keysOf('deployment_key', named))
  const joined = rows.filter((row) => row.from_rollout_key !== null)
  const rollouts = await namesOfRollouts(session, keysOf('rollout_key', [...named, ...joined]))
  const isFirst = new Set(named)
  const facts = rows.flatMap((row) => {
    if (row.changes === null) return []
    const name = isFirst.has(row) ? names.get(row.deployment_key ?? 0) : undefined
    return [toFact(row, row.changes, name, rollouts)]
  })
  return {
    facts,
    upTo: rows.at(-1)?.last_revision ?? null,
    newestReport: rows.reduce((newest, { report_key: key }) => Math.max(newest, Number(key ?? 0)), reportsAfter),
  }
}

/** Also where a deployment returns, or is of an instance that is not the current one: the receiver knows its name then. */
function isNamed(
  { deployment_key: key, from_state: state, changes }: EntryRecord,
  unknown: ReadonlySet<number>,
): boolean {
  return key !== null && changes !== null && (state === null || unknown.has(key))
}

type Name = NonNullable<SiteFact['named']>

function toFact(
  row: FoundRecord,
  changes: readonly ChangeBody[],
  named: Name | undefined,
  rollouts: ReadonlyMap<number, RolloutName>,
): SiteFact {
  const isPlaced = row.deployment_key === null || named !== undefined || row.from_target_key !== null
  const isOfRollout = named !== undefined || row.from_rollout_key !== null
  const rollout = isOfRollout ? rollouts.get(row.rollout_key ?? 0) : undefined
  return {
    ...{ revision: row.first_revision, at: row.at },
    ...(row.observed_at !== null && { observedAt: row.observed_at }),
    ...(row.traceparent !== null && { traceparent: row.traceparent }),
    ...(row.deployment_key !== null && { deployment: row.deployment_key }),
    ...(isPlaced && row.target_key !== null && { target: row.target_key }),
    ...(rollout && { rollout }),
    ...(named && { named }),
    ...(row.report_key !== null && { report: reportIn(row) }),
    changes,
  }
}

function reportIn(row: FoundRecord): SiteReport {
  const columns = Object.fromEntries(reportColumns.map((column) => [column, row[`report_${column}`]]))
  const { verdict, staleBy, receivedAt, adoptedManifestVersion, seq, boot, dialect } = toReport(
    columns as unknown as ReportRecord,
  )
  return {
    ...{ verdict, receivedAt },
    ...(staleBy !== null && { staleBy }),
    ...(adoptedManifestVersion !== null && { adoptedManifestVersion }),
    ...(seq !== null && { seq }),
    ...(boot !== null && { boot }),
    dialect,
  }
}

async function deploymentsNamed(session: Session, keys: readonly number[]): Promise<Map<number, Name>> {
  if (keys.length === 0) return new Map()
  const rows = await session.rows<Name & { readonly key: number }>(
    sql`select ${deployments.key}, ${deployments.deploymentId} as "deploymentId", ${deployments.reporter} from ${deployments}
      where ${isAnyOf(deployments.key, keys, 'bigint')}`,
  )
  return new Map(rows.map(({ key, deploymentId, reporter }) => [key, { deploymentId, reporter }]))
}

/** By key. */
export async function namesOfRollouts(session: Session, keys: readonly number[]): Promise<Map<number, RolloutName>> {
  if (keys.length === 0) return new Map()
  const found = await rolloutNames(session, keys)
  return new Map([...found].map(([key, { key: _, ...name }]) => [key, name as RolloutName]))
}
