/** The orders of lists of rollouts. Keys are assigned in order, so they are the order of creation. */
import { type SQL, sql } from 'drizzle-orm'
import { DomainError } from '../../../domain/errors.ts'
import type { Rollout } from '../../../domain/rollout.ts'
import type { Session } from '../../database.ts'
import { type Order, type OrderBy, orderOfKeys, type Undirected } from '../../sql/order.ts'
import { rollouts } from '../../tables/schema.ts'
import { isFinished } from '../rollouts/rollout-filter.ts'
import { type RolloutLife, seesWholeRollouts } from '../rollouts/rollout-life.ts'

export const rolloutOrderFields = ['CREATED', 'STARTED', 'CHANGED', 'FINISHED', 'NAME'] as const
export type RolloutOrderField = (typeof rolloutOrderFields)[number]

export type RolloutOrder = OrderBy<RolloutOrderField>

export const newestFirst: RolloutOrder = { field: 'CREATED', descending: true }

const finishedRevision = sql`case when ${isFinished} then ${rollouts.activityRevision} end`

type Placed = Pick<Rollout, 'key' | 'name'> & { readonly life: RolloutLife }
const revision = (by: SQL, of: (row: Placed) => number | undefined): Undirected<Placed> => ({
  // A rollout without the time counts as the oldest.
  by: sql`coalesce(${by}, 0)`,
  type: 'bigint',
  of: (row) => of(row) ?? 0,
})

const fields: Readonly<Record<Exclude<RolloutOrderField, 'CREATED'>, Undirected<Placed>>> = {
  STARTED: revision(sql`${rollouts.startedRevision}`, ({ life }) => life.started?.revision),
  CHANGED: revision(sql`${rollouts.changedRevision}`, ({ life }) => life.changed?.revision),
  FINISHED: revision(finishedRevision, ({ life }) => life.finished?.revision),
  NAME: { by: rollouts.name, type: 'text', of: ({ name }) => name },
}

const key: Undirected<Placed> = { by: rollouts.key, type: 'bigint', of: (row) => row.key }

/** Throws if the order would reveal changes that the reader does not see. */
export function orderOf(reader: Pick<Session, 'accessScope'>, order: RolloutOrder): Order<Placed> {
  const { field } = order
  if (!seesWholeRollouts(reader) && field !== 'CREATED' && field !== 'NAME')
    throw new DomainError('BAD_USER_INPUT', 'an access scope with labels can order rollouts only by CREATED or NAME')
  return orderOfKeys('ROLLOUT', order, newestFirst, field === 'CREATED' ? [key] : [fields[field], key])
}
