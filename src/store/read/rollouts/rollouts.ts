import { type SQL, sql } from 'drizzle-orm'
import type { Counters } from '../../../domain/counters.ts'
import type { InstanceStatus } from '../../../domain/instance.ts'
import type { LifecycleState } from '../../../domain/lifecycle.ts'
import type { Rollout, RolloutKind, RolloutName } from '../../../domain/rollout.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import type { Page, PageRequest } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { all, containsText, fixed, isAnyOf } from '../../sql/parameters.ts'
import { storedUniqueName } from '../../sql/rollout-unique-name.ts'
import { type RolloutRecord, rolloutColumns, toCounters, toRollout } from '../../sql/rows.ts'
import { deployments, rollouts } from '../../tables/schema.ts'
import { visiblePlace, visibleRollout } from '../access-scope.ts'
import { actionsOf, instancesOf } from '../instances.ts'
import { lifeAt, lifeOf, type RolloutLife } from './rollout-life.ts'
import { newestFirst, orderOf, type RolloutOrder } from './rollout-order.ts'

/** `asOf`: the revision that the row reflects. Null: the present. */
export interface RolloutRow extends Rollout {
  readonly asOf: Revision | null
  /** Its stored counters. Null: rows must be counted, for the past or a restricted reader. */
  readonly counters: Counters | null
  readonly life: RolloutLife
}

/** Any value within a field, and all fields together. An absent field matches everything, an empty list nothing. */
export interface RolloutFilter {
  readonly kinds?: readonly RolloutKind[]
  readonly projects?: readonly string[]
  readonly names?: readonly string[]
  readonly states?: readonly LifecycleState[]
  readonly statuses?: readonly InstanceStatus[]
  /** Part of the name, project or composite application. Case is ignored. */
  readonly text?: string
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
  const hasDeployments = reader.accessScope
    ? sql`exists (select 1 from ${deployments} where ${deployments.rolloutKey} = ${rollouts.key}
        and ${deployments.forgottenAt} is null and ${deployments.isCurrent} and ${all(visiblePlace(reader, deployments))})`
    : sql`${deployed} > 0`
  return sql`(${rollouts.kind} <> 'MARGO_DEPLOYMENT' or ${hasDeployments})`
}

function fromListed(reader: Session, filter: RolloutFilter, bounds: readonly SQL[]): SQL {
  return sql`from ${rollouts} where ${all([isListed(reader), ...visibleRollout(reader, rollouts), ...matchesRollout(filter), ...bounds])}`
}

function matchesRollout({ kinds, projects, names, states, statuses, text }: RolloutFilter): SQL[] {
  return [
    ...(kinds ? [isAnyOf(rollouts.kind, kinds, 'rollout_kind')] : []),
    ...(projects ? [isAnyOf(rollouts.project, projects, 'text')] : []),
    ...(names ? [isAnyOf(rollouts.name, names, 'text')] : []),
    ...(states ? [isAnyOf(rollouts.state, states, 'lifecycle_state')] : []),
    ...(statuses ? [isAnyOf(rollouts.status, statuses, 'instance_status')] : []),
    ...(typeof text === 'string' ? [containsText([rollouts.name, rollouts.project, rollouts.compositeApp], text)] : []),
  ]
}
