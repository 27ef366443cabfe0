/** How a duty follows the deployments by revision: each as it is now, however often it has changed. */
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'

export interface Indexed {
  readonly cursor: Revision
  readonly deployments: number
}

/**
 * The rows `changed` of a statement: the next deployments. $1 the cursor, $2 deployments at most. They are none if the cursor has moved: another replica
 * has read them. The indexes by revision are partial, so each has its part.
 */
export function changedDeployments(duty: string, columns: string): string {
  const next = (condition: string): string =>
    `(select ${columns} from deployments where ${condition} and revision > $1::bigint order by revision limit $2::int)`
  return `turn as (
    select from duties where name = '${duty}' and coalesce(cursor, 0) = $1::bigint for update
  ), changed as materialized (
    select d.* from turn cross join lateral (
      ${next('forgotten_at is null')} union all ${next('forgotten_at is not null')}
      order by revision limit $2::int) d
  )`
}

/** The end of such a statement. It returns Indexed. */
export function moveCursor(duty: string): string {
  return `update duties set cursor = (select max(revision) from changed)
  where name = '${duty}' and exists (select from changed)
  returning cursor, (select count(*)::int from changed) as deployments`
}

/** The cursor: what was derived from deployments that have not changed since is current. */
export async function readCursor(session: Session, duty: string): Promise<Revision> {
  await session.run('insert into duties (name, cursor) values ($1, 0) on conflict (name) do nothing', [duty])
  const [row] = await session.run<{ cursor: Revision }>(
    'select coalesce(cursor, 0) as cursor from duties where name = $1',
    [duty],
  )
  return row?.cursor ?? 0
}
