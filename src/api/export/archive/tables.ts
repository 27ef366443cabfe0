/** The tables that retention removes rows of, and the export that has their rows. */
import type { Snapshot } from '../../../store/database.ts'
import { readLog } from '../../../store/read/changes/changes.ts'
import { endOfEntry } from '../../../store/read/export/archive-log.ts'
import { readAuditLog } from '../../../store/read/export/audit-log.ts'
import { readReports } from '../../../store/read/export/reports.ts'
import type { Column } from '../columns.ts'
import { auditColumns, auditRow } from '../kinds/audit.ts'
import { changeColumns, changeRows } from '../kinds/changes.ts'
import type { KindName, Part } from '../kinds/kind.ts'
import { cursorOf, placeOf, reportColumns, reportRows } from '../kinds/reports.ts'

/** Keys of rows. */
interface KeyRange {
  readonly after: number
  readonly upTo: number
}

export interface ArchivedTable {
  readonly kind: KindName
  readonly columns: readonly Column[]
  read(whole: Snapshot, range: KeyRange, cursor: string | null): Promise<Part>
}

/** Rows of a part; of the log, entries. */
const size = 500

export const tables: Readonly<Record<string, ArchivedTable>> = {
  change_log: {
    kind: 'changes',
    columns: changeColumns,
    async read(whole, { after, upTo }, cursor) {
      const start = cursor === null ? await endOfEntry(whole, after) : Number(cursor)
      const last = await endOfEntry(whole, upTo)
      const found = start >= last ? [] : await readLog(whole, start, size, last)
      const end = found.at(-1)?.revision ?? last
      const rows = await changeRows({ scoped: whole, whole }, {}, found)
      return { rows, next: end < last ? String(end) : null }
    },
  },
  reports: {
    kind: 'reports',
    columns: reportColumns,
    async read(whole, keys, cursor) {
      const extent = { from: null, to: Number.MAX_SAFE_INTEGER, fromAt: 0, toAt: Number.MAX_SAFE_INTEGER }
      const all = { ...extent, since: null, before: null, filter: {}, keys }
      const { rows, next } = await readReports(whole, all, placeOf(cursor), size)
      return { rows: await reportRows({ scoped: whole, whole }, rows), next: next && cursorOf(next) }
    },
  },
  audit_log: {
    kind: 'audit',
    columns: auditColumns,
    async read(whole, { after, upTo }, cursor) {
      const bounds = { upTo, since: null, before: null }
      const found = await readAuditLog(whole, bounds, cursor === null ? after : Number(cursor), size)
      const rows = found.map(auditRow)
      return { rows, next: found.length === size ? String(found.at(-1)?.key) : null }
    },
  },
}
