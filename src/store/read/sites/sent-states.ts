/** The present of all deployments and targets, which a server of a site sends in parts where its log does not continue what the one above has. */
import { sql } from 'drizzle-orm'
import type { SiteState, SiteTarget } from '../../../domain/sites/batch.ts'
import type { Session } from '../../database.ts'
import { bytesOf, untilBytes } from '../../sql/parts.ts'
import { columnList } from '../../sql/row-mapping.ts'
import { imageFields, toImage } from '../../sql/rows.ts'
import { deployments, pastDeployments, targets } from '../../tables/schema.ts'
import { namesOfRollouts } from './sent-facts.ts'
import { presentTargets } from './sent-targets.ts'

export interface SentStates {
  readonly states: readonly SiteState[]
  readonly targets: readonly SiteTarget[]
  readonly to: number
  readonly isLast: boolean
}

/** Without `until`, which a deployment has not. */
type StateRecord = Parameters<typeof toImage>[0] & {
  readonly deployment_id: string
  readonly reporter: string
}

const imageColumns = columnList(pastDeployments, imageFields)

/** The next deployments and targets by key: at most `most`, and fewer if they are large. */
export async function statesAfter(session: Session, after: number, most: number): Promise<SentStates> {
  const { to, isLast } = await endOfPart(session, after, most)
  const rows = await session.rows<StateRecord>(
    sql`select d.key, d.deployment_id, d.reporter, ${imageColumns('d')} from ${deployments} as d
      where d.key > ${after}::bigint and d.key <= ${to}::bigint and d.forgotten_at is null order by d.key`,
  )
  const rollouts = await namesOfRollouts(session, [...new Set(rows.map((row) => row.rollout_key))])
  // Those up to `after` were in earlier parts.
  const referred = new Set(rows.map((row) => row.target_key).filter((key) => key > to))
  return {
    states: rows.flatMap((row) => {
      const { targetKey, rolloutKey, instanceKey: _, ...image } = toImage(row)
      const rollout = rollouts.get(rolloutKey)
      const named = { deploymentId: row.deployment_id, reporter: row.reporter }
      return rollout ? [{ key: row.key, named, target: targetKey, rollout, image }] : []
    }),
    targets: await presentTargets(session, after, to, [...referred]),
    to,
    isLast,
  }
}

interface KeyRecord {
  readonly key: number
  readonly last_key: number
  readonly n: number
}

async function endOfPart(
  session: Session,
  after: number,
  most: number,
): Promise<{ readonly to: number; readonly isLast: boolean }> {
  const ofDeployments = sql`select key, ${bytesOf(sql`components`, sql`error`)} as bytes from ${deployments}
    where key > ${after}::bigint and forgotten_at is null order by key limit ${most}`
  const ofTargets = sql`select key, ${bytesOf(sql`labels`)} as bytes from ${targets} where key > ${after}::bigint order by key limit ${most}`
  const next = sql`select key, bytes from ((${ofDeployments}) union all (${ofTargets})) as next order by key limit ${most}`
  const [end] = await session.rows<KeyRecord>(
    sql`select max(key) as key, max(last_key) as last_key, max(n)::int as n from (
      select key, last_key, n ${untilBytes(sql`select next.*, max(key) over () as last_key, count(*) over () as n from (${next}) as next`, sql`bytes + 300`, sql`key`)}) as part`,
  )
  if (!end || end.key === null) return { to: after, isLast: true }
  return { to: end.key, isLast: end.key === end.last_key && end.n < most }
}
