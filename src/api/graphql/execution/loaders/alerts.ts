/** The reads of alerts and their rules in one snapshot (reader.ts). */
import type { Revision } from '../../../../domain/values.ts'
import {
  type AlertFilter,
  alertsByKey,
  countAlerts,
  countFiring,
  listAlertRules,
  pageAlerts,
} from '../../../../store/alerts/alerts.ts'
import type { Snapshot } from '../../../../store/database.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched, remembered } from './batching.ts'

export function alertLoaders(s: Snapshot) {
  const ofRollout = batched((keys: readonly number[], filter: AlertFilter, page: PageRequest, asOf: Revision | null) =>
    pageAlerts(s, { of: 'rollout', keys }, filter, page, asOf),
  )
  const countOfRollout = batched((keys: readonly number[], filter: AlertFilter, asOf: Revision | null) =>
    countAlerts(s, { of: 'rollout', keys }, filter, asOf),
  )
  return {
    alert: batched((keys: readonly number[], asOf: Revision | null) => alertsByKey(s, keys, asOf)),
    /** `rolloutKey` null: all alerts. */
    alerts: async (rolloutKey: number | null, filter: AlertFilter, page: PageRequest, asOf: Revision | null) =>
      rolloutKey === null
        ? (await pageAlerts(s, { of: 'all' }, filter, page, asOf)).get(0)
        : ofRollout(rolloutKey, filter, page, asOf),
    alertCount: async (rolloutKey: number | null, filter: AlertFilter, asOf: Revision | null) =>
      rolloutKey === null
        ? (await countAlerts(s, { of: 'all' }, filter, asOf)).get(0)
        : countOfRollout(rolloutKey, filter, asOf),
    alertRules: remembered(() => listAlertRules(s)),
    firingCount: batched((keys: readonly number[]) => countFiring(s, keys)),
  }
}
