/** What exists to publish to a broker. */
import type { Session } from '../database.ts'

/** The next keys after `after`, ascending. Deployments that are not forgotten, or all rollouts. */
export async function keysAfter(
  session: Session,
  of: 'deployments' | 'rollouts',
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await session.run<{ key: number }>(
    of === 'deployments'
      ? 'select key from deployments where key > $1::bigint and forgotten_at is null order by key limit $2::int'
      : 'select key from rollouts where key > $1::bigint order by key limit $2::int',
    [after, limit],
  )
  return rows.map(({ key }) => key)
}
