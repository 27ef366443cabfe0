import { type SQL, sql } from 'drizzle-orm'
import type { Counters } from '../../../domain/counters.ts'
import type { Rollout, RolloutName } from '../../../domain/rollout.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import type { Page, PageRequest } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { all, fixed, isAnyOf } from '../../sql/parameters.ts'
import { storedUniqueName } from '../../sql/rollout-unique-name.ts'
import { type RolloutRecord, rolloutColumns, toCounters, toRollout } from '../../sql/rows.ts'
import { rollouts } from '../../tables/schema.ts'
import { visibleRollout } from '../access-scope.ts'
import { actionsOf, instancesOf } from '../instances.ts'
import { hasDeployment, matchesRollout, type RolloutFilter } from './rollout-filter.ts'
import { lifeAt, lifeOf, type RolloutLife } from './rollout-life.ts'
import { newestFirst, orderOf, type RolloutOrder } from './rollout-order.ts'

/** `asOf`: the revision that the row reflects. Null: the present. */
export interface RolloutRow extends Rollout {
  readonly asOf: Revision | null
  /** Its stored counters. Null: rows must be counted, for the past or a restricted reader. */
  readonly counters: Counters | null
  readonly life: RolloutLife
}

const selectRollouts = fixed(sql`select ${rolloutColumns('rollouts')} from ${rollouts}`)
const rolloutKey = fixed(sql`${rollouts.key}`)

/** Keys without a row (at `asOf`) are absent. */
export async function rolloutsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, RolloutRow>> {
  const rows = await session.rows<RolloutRecord>(
    sql`${selectRollouts} where ${isAnyOf(rolloutKey, keys, 'bigint')} and ${existedAt(session, asOf)}`,
  )
  const found = await asThen(session, rows, asOf)
  return new Map(found.map((rollout) => [rollout.key, rollout]))
}

/** The rollout of exactly that name. If several kinds have it, the declared one. */
export async function rolloutByKeyArgs(
  session: Session,
  name: Omit<RolloutName, 'kind'>,
  asOf: Revision | null,
): Promise<RolloutRow | null> {
  const identity = storedUniqueName(name)
  const [row] = await session.rows<RolloutRecord>(
    sql`${selectRollouts}
      where ${rollouts.kind} = any(enum_range(null::rollout_kind)) and ${rollouts.identity} = ${identity} and ${existedAt(session, asOf)}
      order by ${rollouts.kind} limit 1`,
  )
  if (!row) return null
  const [rollout] = await asThen(session, [row], asOf)
  return rollout ?? null
}

/** The rollout of exactly that kind and name, at present. */
export async function rolloutByName(session: Session, name: RolloutName): Promise<RolloutRow | null> {
  const [row] = await session.rows<RolloutRecord>(
    sql`${selectRollouts}
      where ${rollouts.kind} = ${name.kind}::rollout_kind and ${rollouts.identity} = ${storedUniqueName(name)}`,
  )
  return row ? toRow(session, row) : null
}

/** Implicit rollouts only while they have a deployment. Only the order of creation has an index: any other sorts all that match. */
export async function pageRollouts(
  session: Session,
  filter: RolloutFilter,
  page: PageRequest,
  orderBy: RolloutOrder = newestFirst,
): Promise<Page<RolloutRow>> {
  const order = orderOf(session, orderBy)
  const pages = await pageOf<RolloutRow, RolloutRecord>(session, {
    parents: [0],
    order,
    page,
    columns: rolloutColumns('page_row'),
    select: (stretch) =>
      sql`select ${rollouts}.* ${fromListed(session, filter, within(order, stretch))} ${sorted(order, stretch)}`,
    toNode: (row) => toRow(session, row),
  })
  return pages.get(0) ?? { edges: [], hasNextPage: false, hasPreviousPage: false }
}

export async function countRollouts(session: Session, filter: RolloutFilter): Promise<number> {
  const [row] = await session.rows<{ n: number }>(sql`select count(*)::int as n ${fromListed(session, filter, [])}`)
  return row?.n ?? 0
}

/** Rollouts with the state and the current instance of that time. */
async function asThen(
  session: Session,
  records: readonly RolloutRecord[],
  asOf: Revision | null,
): Promise<RolloutRow[]> {
  const found = records.map((record) => toRow(session, record))
  if (asOf === null) return found
  const living = found.filter(({ state }) => state !== null).map(({ key }) => key)
  const past = found.map((rollout) => ({ ...rollout, asOf, counters: null, life: lifeAt(rollout.life, asOf) }))
  if (living.length === 0) return past
  const [actions, instances] = await Promise.all([actionsOf(session, living, asOf), instancesOf(session, living, asOf)])
  return past.map((rollout) => {
    const current = instances.get(rollout.key)?.at(-1) ?? null
    const state = actions.get(rollout.key)?.at(-1)?.state ?? null
    return {
      ...rollout,
      state,
      status: current?.status ?? null,
      currentInstanceKey: current?.key ?? null,
    }
  })
}

/** At present. */
function toRow(reader: Session, record: RolloutRecord): RolloutRow {
  const counters = toCounters(record)
  const life = lifeOf(reader, record, counters)
  return { ...toRollout(record), asOf: null, counters: reader.accessScope ? null : counters, life }
}

/** The condition that it existed and that the reader sees it, or saw it then. */
function existedAt(reader: Session, asOf: Revision | null): SQL {
  const existed = asOf === null ? [] : [sql`${rollouts.createdRevision} <= ${asOf}::bigint`]
  return all([...existed, ...visibleRollout(reader, rollouts, asOf === null ? 'now' : 'ever')])
}

/** The condition of lists: implicit rollouts only while they have a deployment. */
export function isListed(reader: Session): SQL {
  const { pending, installing, installed, failed, removing, removed } = rollouts
  const deployed = sql.join(
    [pending, installing, installed, failed, removing, removed].map((n) => sql`${n}`),
    sql` + `,
  )
  // Stored counters ignore access scopes.
  const hasDeployments = reader.accessScope ? hasDeployment(reader, sql`true`) : sql`${deployed} > 0`
  return sql`(${rollouts.kind} <> 'MARGO_DEPLOYMENT' or ${hasDeployments})`
}

function fromListed(reader: Session, filter: RolloutFilter, bounds: readonly SQL[]): SQL {
  return sql`from ${rollouts} where ${all([isListed(reader), ...visibleRollout(reader, rollouts), ...matchesRollout(reader, filter), ...bounds])}`
}
