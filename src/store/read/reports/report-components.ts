/**
 * The components of reports. A STALE report has its own. Those of an APPLIED report are in the log: the entry of its revision, folded
 * onto the state before it.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { ChangeBody } from '../../../domain/change.ts'
import { type Component, initialImage } from '../../../domain/deployment.ts'
import { imageAt } from '../../../domain/fold.ts'
import type { ComponentReport } from '../../../domain/report.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, fixed } from '../../sql/parameters.ts'
import { bytesOf, inParts } from '../../sql/parts.ts'
import { changeLog, pastDeployments, reports } from '../../tables/schema.ts'
import { visibleReport } from '../access-scope.ts'
import { asReportKeys, type ReportKey } from './reports.ts'

interface ContentRecord {
  readonly key: number
  readonly own: readonly ComponentReport[] | null
  readonly revision: Revision | null
  /** Null: the report is STALE, or retention has removed the entry. */
  readonly first_revision: Revision | null
  readonly target_key: number
  readonly rollout_key: number
  /** Before the entry. Null: the deployment did not exist. */
  readonly before: readonly Component[] | null
  readonly changes: readonly ChangeBody[]
}

/** By the report's key. Absent: the log does not have them any more. */
export async function componentsOfReports(
  session: Session,
  keys: readonly ReportKey[],
): Promise<Map<number, readonly ComponentReport[]>> {
  const sized = await session.rows<ReportKey & { readonly size: number }>(
    sql`select asked.deployment_key as "deploymentKey", asked.key, ${size} as size ${fromAsked(session, keys)}`,
  )
  const found = new Map<number, readonly ComponentReport[]>()
  for (const part of inParts(sized)) {
    const records = await session.rows<ContentRecord>(
      sql`select asked.key, ${reports.components} as own, ${reports.revision}, entry.first_revision, entry.target_key, entry.rollout_key,
        former.components as before, entry.changes ${fromAsked(session, part)}`,
    )
    for (const record of records) {
      const components = record.own ?? afterEntry(record)
      if (components) found.set(record.key, components)
    }
  }
  return found
}

const size = fixed(bytesOf(sql`${reports.components}`, sql`former.components`, sql`entry.changes`))

/** Looked up one by one (lateral-lookup.ts). */
function fromAsked(reader: Session, keys: readonly ReportKey[]): SQL {
  return sql`from ${asReportKeys(keys)}
    cross join lateral (select * from ${reports}
      where ${reports.deploymentKey} = asked.deployment_key and ${reports.key} = asked.key offset 0) as ${reports}
    left join lateral (select * from ${changeLog}
      where ${changeLog.deploymentKey} = asked.deployment_key and ${changeLog.resourceKey} is null
        and ${changeLog.firstRevision} <= ${reports.revision} and ${changeLog.lastRevision} >= ${reports.revision}
      order by ${changeLog.firstRevision} desc limit 1) as entry on true
    left join lateral (select ${pastDeployments.components} from ${pastDeployments}
      where ${pastDeployments.until} = entry.first_revision offset 0) as former on true
    where ${all(visibleReport(reader, reports, 'any'))}`
}

function afterEntry(record: ContentRecord): readonly ComponentReport[] | null {
  const { first_revision: firstRevision, revision, target_key: targetKey, rollout_key: rolloutKey, changes } = record
  if (firstRevision === null || revision === null) return null
  // Only the components are used, and they do not depend on the other fields.
  const entry = {
    firstRevision,
    at: 0,
    observedAt: null,
    traceparent: null,
    targetKey,
    rolloutKey,
    instanceKey: null,
    changes,
  }
  const place = { targetKey, rolloutKey, changedAt: 0, revision: 0 }
  const image = imageAt(record.before && { ...initialImage, ...place, components: record.before }, entry, revision)
  const components = image?.components.map(({ name, state, error, unread }) => ({
    ...{ name, state, error },
    ...(unread !== undefined && { unread }),
  }))
  return components ?? null
}
