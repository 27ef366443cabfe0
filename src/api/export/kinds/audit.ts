/** The audit log. It has no revisions: the key of its newest line bounds an export. */
import type { AuditLogRow } from '../../../store/read/api-access.ts'
import { newestAuditKey, readAuditLog } from '../../../store/read/export/audit-log.ts'
import { columnsOf, type Row } from '../columns.ts'
import { cursorNumbers, givenIn, timeIn } from '../query.ts'
import type { Kind } from './kind.ts'

export const auditColumns = columnsOf({
  at: 'time',
  kind: 'text',
  caller: 'text',
  credential: 'text',
  address: 'text',
  action: 'text',
  outcome: 'text',
  detail: 'json',
  times: 'count',
  cursor: 'text',
})

/** Rows of a part. */
const size = 500

export const audit: Kind = {
  columns: auditColumns,
  accepts: ['upTo', 'since', 'before'],
  async open({ whole }, query) {
    const given = query.get('upTo')
    const [upTo = 0] = given === undefined ? [await newestAuditKey(whole)] : cursorNumbers(given, 1, 'upTo')
    const extent = { upTo, since: timeIn(query, 'since'), before: timeIn(query, 'before') }
    return {
      revision: null,
      parameters: { upTo: String(upTo), ...givenIn(query, ['since', 'before']) },
      async read({ scoped }, after) {
        const [key = 0] = after === null ? [] : cursorNumbers(after, 1)
        const found = await readAuditLog(scoped, extent, key, size)
        return { rows: found.map(auditRow), next: found.length === size ? String(found.at(-1)?.key) : null }
      },
    }
  },
}

export function auditRow({ key, ...row }: AuditLogRow): Row {
  return { ...row, cursor: String(key) }
}
