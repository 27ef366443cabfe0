import { type SQL, sql } from 'drizzle-orm'
import type { Revision } from '../domain/deployment.ts'
import { type Rollout, type RolloutKind, type RolloutName, rolloutIdentity } from '../domain/rollout.ts'
import type { Session } from './database.ts'
import { type Order, type Page, type PageRequest, pageOf, sorted, within } from './page.ts'
import { all, containsText, isAnyOf, nothing } from './parameters.ts'
import { type RolloutRecord, toRollout } from './rows.ts'
import { rollouts } from './schema.ts'

/** `asOf` null: as it is now; else as it was at that revision. */
export type RolloutRow = Rollout & { readonly asOf: Revision | null }

/** Any of these within a field, all fields together; an absent field asks nothing, an empty list matches nothing. */
export interface RolloutFilter {
  readonly kinds?: readonly RolloutKind[]
  readonly projects?: readonly string[]
  readonly names?: readonly string[]
  /** No rollout has a lifecycle yet, so these match nothing. */
  readonly states?: readonly string[]
  readonly statuses?: readonly string[]
  /** Part of its name, project or composite application, in any case. */
  readonly text?: string
}

/** Keys are handed out in order, so the newest is the greatest. */
const newestFirst: Order<Rollout> = {
  name: 'ROLLOUT',
  keys: [{ by: rollouts.key, type: 'bigint', descending: true, of: (rollout) => rollout.key }],
}

/** A key that names nothing (or nothing yet at `asOf`) is absent. */
export async function rolloutsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, RolloutRow>> {
  const rows = await session.rows<RolloutRecord>(
    sql`select ${rollouts}.* from ${rollouts} where ${isAnyOf(rollouts.key, keys, 'bigint')} and ${existedAt(asOf)}`,
  )
  return new Map(rows.map((row) => [row.key, { ...toRollout(row), asOf }]))
}

/** The one of exactly that name; of several kinds a declared one first. */
export async function rolloutByKeyArgs(
  session: Session,
  name: Omit<RolloutName, 'kind'>,
  asOf: Revision | null,
): Promise<RolloutRow | null> {
  const identity = rolloutIdentity(name)
  const [row] = await session.rows<RolloutRecord>(
    sql`select ${rollouts}.* from ${rollouts}
      where ${rollouts.kind} = any(enum_range(null::rollout_kind)) and ${rollouts.identity} = ${identity} and ${existedAt(asOf)}
      order by ${rollouts.kind} limit 1`,
  )
  return row ? { ...toRollout(row), asOf } : null
}

/** Newest first; implicit rollouts only while they have a deployment. */
export async function pageRollouts(
  session: Session,
  filter: RolloutFilter,
  page: PageRequest,
): Promise<Page<RolloutRow>> {
  const pages = await pageOf<RolloutRow, RolloutRecord>(session, {
    parents: [0],
    order: newestFirst,
    page,
    select: (stretch) =>
      sql`select ${rollouts}.* ${fromListed(filter, within(newestFirst, stretch))} ${sorted(newestFirst, stretch)}`,
    toNode: (row) => ({ ...toRollout(row), asOf: null }),
  })
  return pages.get(0) ?? { edges: [], hasNextPage: false, hasPreviousPage: false }
}

export async function countRollouts(session: Session, filter: RolloutFilter): Promise<number> {
  const [row] = await session.rows<{ n: number }>(sql`select count(*)::int as n ${fromListed(filter, [])}`)
  return row?.n ?? 0
}

function existedAt(asOf: Revision | null): SQL {
  return asOf === null ? sql`true` : sql`${rollouts.createdRevision} <= ${asOf}::bigint`
}

function fromListed(filter: RolloutFilter, bounds: readonly SQL[]): SQL {
  const { pending, installing, installed, failed, removing, removed } = rollouts
  const deployed = sql.join(
    [pending, installing, installed, failed, removing, removed].map((n) => sql`${n}`),
    sql` + `,
  )
  const isListed = sql`(${rollouts.kind} <> 'MARGO_DEPLOYMENT' or ${deployed} > 0)`
  return sql`from ${rollouts} where ${all([isListed, ...matchesRollout(filter), ...bounds])}`
}

function matchesRollout({ kinds, projects, names, states, statuses, text }: RolloutFilter): SQL[] {
  return [
    ...(kinds ? [isAnyOf(rollouts.kind, kinds, 'rollout_kind')] : []),
    ...(projects ? [isAnyOf(rollouts.project, projects, 'text')] : []),
    ...(names ? [isAnyOf(rollouts.name, names, 'text')] : []),
    ...(states || statuses ? [nothing] : []),
    ...(typeof text === 'string' ? [containsText([rollouts.name, rollouts.project, rollouts.compositeApp], text)] : []),
  ]
}
