/** Column types: enums, numbers, times and counters. */
import { bigint, integer, numeric, pgEnum, timestamp } from 'drizzle-orm/pg-core'
import { alertMetrics, alertSeverities, alertUnits, resolutions } from '../../domain/alerts/alert.ts'
import { convergences } from '../../domain/desired.ts'
import { instanceGoals, instanceStatuses } from '../../domain/orchestration/instance.ts'
import { lifecycleStates } from '../../domain/orchestration/lifecycle.ts'
import { presences, syncStatuses } from '../../domain/orchestration/resource.ts'
import { verdicts } from '../../domain/report.ts'
import { rolloutKinds } from '../../domain/rollout.ts'
import { connectivities, targetKinds } from '../../domain/target.ts'
import {
  type Digits,
  deploymentStates,
  failureStages,
  type Millis,
  type Revision,
  readinesses,
} from '../../domain/values.ts'

export const deploymentState = pgEnum('deployment_state', deploymentStates)
export const failureStage = pgEnum('failure_stage', failureStages)
export const convergence = pgEnum('convergence', convergences)
export const readiness = pgEnum('readiness', readinesses)
export const connectivity = pgEnum('connectivity', connectivities)
export const targetKind = pgEnum('target_kind', targetKinds)
export const rolloutKind = pgEnum('rollout_kind', rolloutKinds)
export const lifecycleState = pgEnum('lifecycle_state', lifecycleStates)
export const instanceStatus = pgEnum('instance_status', instanceStatuses)
export const instanceGoal = pgEnum('instance_goal', instanceGoals)
export const syncStatus = pgEnum('sync_status', syncStatuses)
export const presence = pgEnum('presence', presences)
export const sinkKinds = ['CALLBACK', 'WEBHOOK', 'INVENTORY', 'ALERTMANAGER'] as const
export const sinkKind = pgEnum('sink_kind', sinkKinds)
export const alertMetric = pgEnum('alert_metric', alertMetrics)
export const alertUnit = pgEnum('alert_unit', alertUnits)
export const alertSeverity = pgEnum('alert_severity', alertSeverities)
export const alertResolution = pgEnum('alert_resolution', resolutions)
const ruleOrigins = ['API', 'FILE'] as const
export const ruleOrigin = pgEnum('rule_origin', ruleOrigins)
export const verdict = pgEnum('verdict', verdicts)

export const revision = <Name extends string>(name: Name) => bigint(name, { mode: 'number' }).$type<Revision>()
export const key = <Name extends string>(name: Name) => bigint(name, { mode: 'number' })
/** ISO 8601 in statements, Millis in rows. */
export const instant = <Name extends string>(name: Name) =>
  timestamp(name, { withTimezone: true, precision: 3, mode: 'string' }).$type<Millis>()
export const u64 = <Name extends string>(name: Name) => numeric(name, { precision: 20, scale: 0 }).$type<Digits>()
export const count = <Name extends string>(name: Name) => integer(name).notNull().default(0)

/** Deployments by state and by convergence (domain/counters.ts). */
export const deploymentCounters = {
  pending: count('pending'),
  installing: count('installing'),
  installed: count('installed'),
  failed: count('failed'),
  removing: count('removing'),
  removed: count('removed'),
  convergenceConverged: count('convergence_converged'),
  convergenceApplying: count('convergence_applying'),
  convergenceFailed: count('convergence_failed'),
  convergenceStale: count('convergence_stale'),
  convergenceUnknown: count('convergence_unknown'),
}
