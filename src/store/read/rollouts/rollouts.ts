import { type SQL, sql } from 'drizzle-orm'
import type { Counters } from '../../../domain/counters.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Rollout, RolloutName } from '../../../domain/rollout.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { writeCursor } from '../../sql/cursor.ts'
import { emptyPage, type Page, type PageRequest } from '../../sql/order.ts'
import { edgeOf, pageOf, sorted, within } from '../../sql/page.ts'
import { all, fixed, isAnyOf } from '../../sql/parameters.ts'
import { storedUniqueName } from '../../sql/rollout-unique-name.ts'
import { type RolloutRecord, rolloutColumns, toCounters, toRollout } from '../../sql/rows.ts'
import { sumOfStates } from '../../sql/state-counters.ts'
import { rollouts } from '../../tables/schema.ts'
import { visibleRollout } from '../access-scope.ts'
import { readingOf } from '../filters/past-candidates.ts'
import { sourceLimits } from '../filters/source.ts'
import { actionsOf, instancesOf } from '../orchestration/instances.ts'
import { newestFirst, orderOf, type RolloutOrder } from '../orders/rollout-order.ts'
import { openPast, type Past } from '../past.ts'
import {
  eachHadDeployment,
  hadDeployment,
  hasDeployment,
  matchesRollout,
  type RolloutFilter,
  readsFleet,
} from './rollout-filter.ts'
import { lifeAt, lifeOf, type RolloutLife } from './rollout-life.ts'

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
  const found = await asThen(session, toRows(session, rows), asOf)
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
  const [rollout] = await asThen(session, toRows(session, [row]), asOf)
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

/**
 * Implicit rollouts only while they have a deployment. Only creation and name have an index: any other order sorts all that match. In the past, only
 * these two are orders.
 */
export async function pageRollouts(
  session: Session,
  filter: RolloutFilter,
  page: PageRequest,
  orderBy: RolloutOrder = newestFirst,
  asOf: Revision | null = null,
): Promise<Page<RolloutRow>> {
  const order = orderOf(session, orderBy)
  if (asOf !== null && orderBy.field !== 'CREATED' && orderBy.field !== 'NAME')
    throw new DomainError('BAD_USER_INPUT', 'rollouts of the past can be ordered only by CREATED or NAME')
  const past = await pastOf(session, asOf, filter, true)
  const pages = await pageOf<RolloutRow, RolloutRecord>(session, {
    parents: [0],
    order,
    page,
    columns: rolloutColumns('page_row'),
    select: (stretch) =>
      sql`select ${rollouts}.* ${fromListed(session, filter, past, within(order, stretch), true)} ${sorted(order, stretch)}`,
    toNode: (row) => toRow(session, row),
  })
  const found = pages.get(0) ?? emptyPage
  if (asOf === null) return found
  const rows = await asThen(
    session,
    found.edges.map(({ node }) => node),
    asOf,
  )
  return { ...found, edges: rows.map((row) => edgeOf(row, (node) => writeCursor(order, node))) }
}

export async function countRollouts(
  session: Session,
  filter: RolloutFilter,
  asOf: Revision | null = null,
): Promise<number> {
  const past = await pastOf(session, asOf, filter, false)
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n ${fromListed(session, filter, past, [])}`,
  )
  return row?.n ?? 0
}

/** Rollouts with the state and the current instance of that time. */
async function asThen(session: Session, found: RolloutRow[], asOf: Revision | null): Promise<RolloutRow[]> {
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

function toRows(reader: Session, records: readonly RolloutRecord[]): RolloutRow[] {
  return records.map((record) => toRow(reader, record))
}

/** At present. */
function toRow(reader: Session, record: RolloutRecord): RolloutRow {
  const counters = toCounters(record)
  const life = lifeOf(reader, record, counters)
  return { ...toRollout(record), asOf: null, counters: reader.accessScope ? null : counters, life }
}

/** The condition that it existed and that the reader sees it, or saw it then or later. */
function existedAt(reader: Session, asOf: Revision | null): SQL {
  const existed = asOf === null ? [] : [sql`${rollouts.createdRevision} <= ${asOf}::bigint`]
  return all([...existed, ...visibleRollout(reader, rollouts, asOf)])
}

/** The condition of lists: implicit rollouts only while they have a deployment. */
export function isListed(reader: Session): SQL {
  // Stored counters ignore access scopes.
  const hasDeployments = reader.accessScope
    ? hasDeployment(reader, sql`true`)
    : sql.raw(`${sumOfStates('rollouts')} > 0`)
  return sql`(${rollouts.kind} <> 'MARGO_DEPLOYMENT' or ${hasDeployments})`
}

async function pastOf(
  session: Session,
  asOf: Revision | null,
  filter: RolloutFilter,
  isPage: boolean,
): Promise<Past | null> {
  if (asOf === null) return null
  const past = await openPast(session, asOf)
  return readsFleet(filter, isPage) ? readingOf(session, past, { of: 'fleet' }, {}, sourceLimits) : past
}

function fromListed(
  reader: Session,
  filter: RolloutFilter,
  past: Past | null,
  bounds: readonly SQL[],
  isPage = false,
): SQL {
  const listed = past ? wasListed(reader, past, isPage) : [isListed(reader), ...visibleRollout(reader, rollouts)]
  return sql`from ${rollouts} where ${all([...listed, ...matchesRollout(reader, filter, past), ...bounds])}`
}

/** A reader that labels restrict gets those that had a deployment which it saw. */
function wasListed(reader: Session, past: Past, isPage: boolean): SQL[] {
  const had = isPage ? eachHadDeployment(reader, past) : hadDeployment(reader, past, {})
  return [
    existedAt(reader, past.revision),
    reader.accessScope?.labels ? had : sql`(${rollouts.kind} <> 'MARGO_DEPLOYMENT' or ${had})`,
  ]
}
