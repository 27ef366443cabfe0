/** The reads of reports of one snapshot (reader.ts). */
import type { Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import { componentsOfReports } from '../../../../store/read/reports/report-components.ts'
import {
  countFleetReports,
  countReports,
  errorsOfReports,
  pageFleetReports,
  pageReports,
  type ReportFilter,
  type ReportKey,
  reportsByKey,
} from '../../../../store/read/reports/reports.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched, remembered } from './batching.ts'

export function reportLoaders(s: Snapshot) {
  return {
    reports: batched((keys: readonly number[], page: PageRequest, until: Revision | null) =>
      pageReports(s, keys, page, until),
    ),
    report: batched(
      (keys: readonly ReportKey[]) => reportsByKey(s, keys),
      ({ key }) => key,
    ),
    reportErrors: batched(
      (keys: readonly ReportKey[]) => errorsOfReports(s, keys),
      ({ key }) => key,
    ),
    reportComponents: batched(
      (keys: readonly ReportKey[]) => componentsOfReports(s, keys),
      ({ key }) => key,
    ),
    fleetReports: remembered((filter: ReportFilter, page: PageRequest) => pageFleetReports(s, filter, page)),
    fleetReportCount: remembered((filter: ReportFilter) => countFleetReports(s, filter)),
    reportCount: batched((keys: readonly number[], until: Revision | null) => countReports(s, keys, until)),
  }
}
