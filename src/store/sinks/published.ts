/** What exists to publish to a broker. */
import type { Session } from '../database.ts'

/** The next deployments after a key, ascending, without forgotten ones. */
export function deploymentsAfter(
  session: Session,
  after: number,
  limit: number,
): Promise<{ readonly key: number; readonly deploymentId: string }[]> {
  return session.run(
    `select key, deployment_id as "deploymentId" from deployments where key > $1::bigint and forgotten_at is null order by key limit $2::int`,
    [after, limit],
  )
}

/** The next keys of rollouts. */
export async function rolloutsAfter(session: Session, after: number, limit: number): Promise<number[]> {
  const rows = await session.run<{ key: number }>(
    'select key from rollouts where key > $1::bigint order by key limit $2::int',
    [after, limit],
  )
  return rows.map(({ key }) => key)
}
