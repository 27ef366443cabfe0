/**
 * Since when deployments have stood still, and what that is compared with (write/standstill.ts finds standstills). The log has the time.
 * The usual durations are the present ones: earlier ones are not kept.
 */
import { type SQL, sql } from 'drizzle-orm'
import { storableJson } from '../../domain/text.ts'
import type { DeploymentState, Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { changeLog, pastDeployments, usualDurations } from '../tables/schema.ts'
import { fewestPeers } from '../write/step-durations.ts'
import { seesWholeRollouts } from './rollouts/rollout-life.ts'

/** A stalled deployment. `component` is empty for the deployment as a whole. */
export interface StalledDeployment {
  readonly key: number
  readonly rolloutKey: number
  readonly changedAt: Millis
  readonly steps: readonly { readonly component: string; readonly state: DeploymentState }[]
}

export interface Stall {
  readonly since: Millis
  /** Of the step that exceeds its usual duration most. Null: too few peers have completed one of its steps. */
  readonly usual: { readonly component: string; readonly p95: number; readonly peers: number } | null
  /** False: `usual` is hidden from the reader. */
  readonly isCompared: boolean
}

interface Row {
  readonly key: number
  readonly since: Millis | null
  readonly component: string | null
  readonly p95: number | null
  readonly peers: number | null
}

/** By deployment key. All steps of a deployment stand still since the same time, so the shortest usual duration is exceeded most. */
export async function stallsOf(
  session: Session,
  stalled: readonly StalledDeployment[],
  asOf: Revision | null,
): Promise<Map<number, Stall>> {
  const isCompared = seesWholeRollouts(session)
  const items = stalled.map(({ key, rolloutKey, steps }) => ({ key, rollout_key: rolloutKey, steps }))
  const rows = await session.rows<Row>(
    sql`select asked.key, began.changed_at as since, usual.component, usual.p95, usual.count as peers
      from json_to_recordset(${storableJson(items)}::text::json) as asked(key bigint, rollout_key bigint, steps json)
      left join lateral (${lastStall(asOf)}) as began on true
      left join lateral (select ${usualDurations}.*
        from json_to_recordset(asked.steps) as step(component text, state deployment_state)
        join ${usualDurations} on ${usualDurations.rolloutKey} = asked.rollout_key
          and ${usualDurations.component} = step.component and ${usualDurations.state} = step.state
        where ${usualDurations.count} >= ${fewestPeers} and ${isCompared}::boolean
        order by ${usualDurations.p95} limit 1) as usual on true`,
  )
  const changedAt = new Map(stalled.map((one) => [one.key, one.changedAt]))
  return new Map(
    rows.map(({ key, since, component, p95, peers }) => [
      key,
      {
        // Without the entry, only its time is known.
        since: since ?? changedAt.get(key) ?? 0,
        usual: component === null || p95 === null || peers === null ? null : { component, p95, peers },
        isCompared,
      },
    ]),
  )
}

/** The newest entry with which asked.key stalled. A stalled deployment that changes is not stalled any more, so few entries follow it. */
function lastStall(asOf: Revision | null): SQL {
  const isThen = asOf === null ? sql`true` : sql`${changeLog.firstRevision} <= ${asOf}::bigint`
  return sql`select (select ${pastDeployments.changedAt} from ${pastDeployments} where ${pastDeployments.until} = ${changeLog.firstRevision}) as changed_at
    from ${changeLog} where ${changeLog.deploymentKey} = asked.key and ${changeLog.resourceKey} is null and ${isThen} and exists (
      select from json_array_elements(${changeLog.changes}) as body(change)
      where body.change ->> 'kind' = 'DEPLOYMENT_STALLED' and (body.change ->> 'stalled')::boolean)
    order by ${changeLog.firstRevision} desc limit 1`
}
