import { timeOf } from '../../../store/read/changes/recorded-at.ts'
import {
  type ExportedReport,
  type ReportExtent,
  type ReportPlace,
  readReports,
} from '../../../store/read/export/reports.ts'
import { requireRetained } from '../../../store/read/past.ts'
import { columnsOf, type Row, rolloutColumns, targetColumns } from '../columns.ts'
import { conditionParameters, conditionsOf, deploymentFilterOf } from '../conditions.ts'
import { cursorNumbers, givenIn, timeIn } from '../query.ts'
import { momentParameters, rangeOf } from './bounds.ts'
import type { Kind, Sessions } from './kind.ts'
import { readPlaces } from './places.ts'

export const reportColumns = columnsOf({
  deploymentId: 'text',
  ...targetColumns,
  ...rolloutColumns,
  verdict: 'text',
  staleBy: 'text',
  state: 'text',
  errorCode: 'text',
  errorMessage: 'text',
  reportedAt: 'time',
  receivedAt: 'time',
  sequence: 'text',
  adoptedManifestVersion: 'text',
  revision: 'revision',
  dialect: 'text',
  traceparent: 'text',
  cursor: 'text',
})

/** Rows of a part. */
const size = 500

export const reports: Kind = {
  columns: reportColumns,
  accepts: [...momentParameters, 'afterRevision', 'since', 'before', ...conditionParameters],
  async open({ scoped }, query) {
    const { from, to } = await rangeOf(scoped, query)
    const extent: ReportExtent = {
      // Revision 0 is before everything, also before reports of a clock that was behind.
      from: from === 0 ? null : from,
      to,
      fromAt: await timeOf(scoped, from),
      toAt: await timeOf(scoped, to),
      since: timeIn(query, 'since'),
      before: timeIn(query, 'before'),
      filter: deploymentFilterOf(query),
    }
    return {
      revision: to,
      parameters: {
        afterRevision: String(from),
        atRevision: String(to),
        ...givenIn(query, ['since', 'before']),
        ...conditionsOf(query),
      },
      async read(sessions, after) {
        await requireRetained(sessions.whole, to)
        const { rows, next } = await readReports(sessions.scoped, extent, placeOf(after), size)
        return { rows: await reportRows(sessions, rows), next: next && cursorOf(next) }
      },
    }
  },
}

export const cursorOf = ({ deploymentKey, key }: ReportPlace): string => `${deploymentKey}.${key}`

export function placeOf(cursor: string | null): ReportPlace {
  const [deploymentKey = 0, key = 0] = cursor === null ? [] : cursorNumbers(cursor, 2)
  return { deploymentKey, key }
}

export async function reportRows({ whole }: Sessions, found: readonly ExportedReport[]): Promise<Row[]> {
  const showPlace = await readPlaces(
    whole,
    found.map(({ placeTarget }) => placeTarget),
    found.map(({ placeRollout }) => placeRollout),
  )
  return found.map((row) => ({
    deploymentId: row.deploymentId,
    ...showPlace(row.placeTarget, row.placeRollout),
    verdict: row.verdict,
    staleBy: row.staleBy,
    state: row.state,
    errorCode: row.errorCode,
    errorMessage: row.errorMessage,
    reportedAt: row.reportedAt,
    receivedAt: row.receivedAt,
    sequence: row.seq,
    adoptedManifestVersion: row.adoptedManifestVersion,
    revision: row.revision,
    dialect: row.dialect,
    traceparent: row.traceparent,
    cursor: cursorOf(row),
  }))
}
