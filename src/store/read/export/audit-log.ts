/** The lines of the audit log, by ascending key. */
import { sql } from 'drizzle-orm'
import type { Millis } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, timeParameter } from '../../sql/parameters.ts'
import { auditLog } from '../../tables/schema.ts'
import type { AuditLogRow } from '../api-access.ts'

interface AuditExtent {
  /** The key of the last line. */
  readonly upTo: number
  readonly since: Millis | null
  readonly before: Millis | null
}

/** 0: the audit log is empty. */
export async function newestAuditKey(session: Session): Promise<number> {
  const [row] = await session.rows<{ readonly key: number }>(
    sql`select coalesce(max(${auditLog.key}), 0) as key from ${auditLog}`,
  )
  return row?.key ?? 0
}

export function readAuditLog(
  session: Session,
  { upTo, since, before }: AuditExtent,
  after: number,
  size: number,
): Promise<AuditLogRow[]> {
  const conditions = [
    sql`${auditLog.key} > ${after}::bigint`,
    sql`${auditLog.key} <= ${upTo}::bigint`,
    ...(since === null ? [] : [sql`${auditLog.at} >= ${timeParameter(since)}`]),
    ...(before === null ? [] : [sql`${auditLog.at} < ${timeParameter(before)}`]),
  ]
  return session.rows<AuditLogRow>(
    sql`select ${auditLog.key}, ${auditLog.at}, ${auditLog.kind}, ${auditLog.caller} as caller, ${auditLog.credential}, ${auditLog.address},
        ${auditLog.action}, ${auditLog.outcome}, ${auditLog.detail}, ${auditLog.times}
      from ${auditLog} where ${all(conditions)} order by ${auditLog.key} limit ${size}`,
  )
}
