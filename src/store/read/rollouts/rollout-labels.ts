/** Reads the labels that operators gave to rollouts, at present or as of a revision. */
import { type SQL, sql } from 'drizzle-orm'
import { type LabelCondition, matchesLabel } from '../../../domain/selectors/label-condition.ts'
import type { Label } from '../../../domain/target.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { asKeptParents, hasLabelWhere } from '../../sql/parameters.ts'
import { rolloutLabels, rollouts } from '../../tables/schema.ts'

/** One probe of an index for each rollout. Rollouts that had none are absent. */
export async function labelsOfRollouts(
  session: Session,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, readonly Label[]>> {
  const then = asOf === null ? sql`` : sql`and ${rolloutLabels.since} <= ${asOf}::bigint`
  const rows = await session.rows<{ key: number; labels: readonly Label[] }>(
    sql`select parent.key, newest.labels from ${asKeptParents(rolloutKeys)}
      cross join lateral (select ${rolloutLabels.labels} from ${rolloutLabels}
        where ${rolloutLabels.rolloutKey} = parent.key ${then} order by ${rolloutLabels.since} desc limit 1) as newest`,
  )
  return new Map(rows.map(({ key, labels }) => [key, labels]))
}

/** Of a row of rollouts. An index finds the labels: few rollouts have any. */
export function rolloutHasLabel(condition: LabelCondition, asOf: Revision | null): SQL {
  const fulfilled = hasLabelWhere(rolloutLabels.labels, condition)
  const labelled = (where: SQL): SQL =>
    sql`select ${rolloutLabels.rolloutKey} from ${rolloutLabels} where ${isOf(asOf)} and ${where}`
  return matchesLabel(condition, [])
    ? sql`${rollouts.key} not in (${labelled(sql`not (${fulfilled})`)})`
    : sql`${rollouts.key} in (${labelled(fulfilled)})`
}

function isOf(asOf: Revision | null): SQL {
  const { since, until } = rolloutLabels
  if (asOf === null) return sql`${until} is null`
  return sql`${since} <= ${asOf}::bigint and (${until} is null or ${until} > ${asOf}::bigint)`
}
