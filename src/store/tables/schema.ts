/**
 * The tables. A `key` is an internal number, assigned under the writer's lock (log_head.next_key). An `id` comes from outside.
 * Two rules hold: only the writer (src/ingest) writes, and only under the lock of log_head; and each row of change_log keeps its
 * subject's state before the change (of a deployment in past_deployments), so that the past is the present unwound.
 * Columns that are written with each report and only read as a whole are json: parsing into jsonb was half the cost of a write.
 */
export * from './access.ts'
export * from './alerts.ts'
export * from './columns.ts'
export * from './core.ts'
export * from './desired.ts'
export * from './duties.ts'
export * from './log.ts'
export * from './maintenance.ts'
export * from './oidc.ts'
export * from './orchestration.ts'
export * from './rollout-labels.ts'
export * from './sinks.ts'
export * from './sites.ts'
