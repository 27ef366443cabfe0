/** Rows of alert rules and alerts. */
import type { Alert } from '../../domain/alerts/alert.ts'
import type { Revision } from '../../domain/values.ts'
import { columnList, fieldsBut, type ObjectOf, type RowOf, rowMapper } from '../sql/row-mapping.ts'
import { alertRules, alerts } from '../tables/schema.ts'

const ruleFields = fieldsBut(alertRules)
export type StoredRule = ObjectOf<typeof alertRules>
export type RuleRecord = RowOf<typeof alertRules>
export const toRule: (row: RuleRecord) => StoredRule = rowMapper(alertRules, ruleFields)

export type RuleOrigin = StoredRule['origin']

export type AlertRecord = RowOf<typeof alerts>
export const toAlert: (row: AlertRecord) => Alert = rowMapper(alerts, fieldsBut(alerts))
export const alertColumns = columnList(alerts, fieldsBut(alerts))

/** What the writer reads of them. */
export interface LoadedAlerts {
  readonly cursor: Revision | null
  /** Rules that are not deleted, of any name. */
  readonly ruleCount: number
  readonly rules: readonly StoredRule[]
  readonly alerts: readonly Alert[]
}
