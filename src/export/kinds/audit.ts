/** The audit log. It has no revisions: the key of its newest line bounds an export. */
import { newestAuditKey, readAuditLog } from '../../store/read/export/audit-log.ts'
import { columnsOf } from '../columns.ts'
import { cursorNumbers, givenIn, timeIn } from '../query.ts'
import type { Kind } from './kind.ts'

const columns = columnsOf({
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
  columns,
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
        const rows = found.map(({ key: line, ...row }) => ({ ...row, cursor: String(line) }))
        const last = rows.at(-1)
        return { rows, next: last && rows.length === size ? last.cursor : null }
      },
    }
  },
}
