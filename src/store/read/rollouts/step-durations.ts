/** How long the steps of rollouts took, from the histograms that write/step-durations.ts keeps. */
import { sql } from 'drizzle-orm'
import type { DeploymentState, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { covered } from '../../projection.ts'
import { isAnyOf } from '../../sql/parameters.ts'
import { stepDurations } from '../../tables/schema.ts'
import { stepsProjection } from '../../write/step-durations.ts'
import { seesWholeRollouts } from './rollout-life.ts'

/** Milliseconds. A value is the mean of its bucket, which is 4.4 % wide. */
export interface StepDuration {
  /** Empty: the deployment as a whole. */
  readonly component: string
  readonly state: DeploymentState
  readonly count: number
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly max: number
}

export interface StepDurations {
  readonly steps: readonly StepDuration[]
  /** The changes up to this revision are counted. Null: none are counted yet. */
  readonly countedTo: Revision | null
}

interface Bucket {
  readonly rollout: number
  readonly component: string
  readonly state: DeploymentState
  readonly count: number
  readonly total: number
}

/** By rollout. Empty for a reader that labels restrict: the histograms count deployments that it may not see. */
export async function stepDurationsOf(
  session: Session,
  rolloutKeys: readonly number[],
): Promise<Map<number, StepDurations>> {
  if (!seesWholeRollouts(session)) return new Map()
  const buckets = await session.rows<Bucket>(
    sql`select ${stepDurations.rolloutKey} as rollout, ${stepDurations.component}, ${stepDurations.state}, ${stepDurations.count},
        ${stepDurations.total} from ${stepDurations} where ${isAnyOf(stepDurations.rolloutKey, rolloutKeys, 'bigint')}
      order by ${stepDurations.rolloutKey}, ${stepDurations.component}, ${stepDurations.state}, ${stepDurations.bucket}`,
  )
  const [known] = await session.run<{ cursor: Revision }>(`select ${covered(stepsProjection)} as cursor`)
  const byRollout = Map.groupBy(buckets, ({ rollout }) => rollout)
  return new Map(
    rolloutKeys.map((key) => {
      const bySteps = Map.groupBy(byRollout.get(key) ?? [], ({ component, state }) => `${state} ${component}`)
      return [key, { steps: [...bySteps.values()].map(summarize), countedTo: known?.cursor || null }]
    }),
  )
}

/** `buckets` in ascending order, of one step. */
function summarize(buckets: readonly Bucket[]): StepDuration {
  const { component = '', state = 'PENDING' } = buckets[0] ?? {}
  const count = buckets.reduce((sum, bucket) => sum + bucket.count, 0)
  const total = buckets.reduce((sum, bucket) => sum + bucket.total, 0)
  const quantile = (share: number): number => {
    let upTo = 0
    const found = buckets.find((bucket) => {
      upTo += bucket.count
      return upTo >= share * count
    })
    return found ? found.total / found.count : 0
  }
  const steps = { p50: quantile(0.5), p90: quantile(0.9), p95: quantile(0.95), max: quantile(1) }
  return { component, state, count, mean: total / count, ...steps }
}
