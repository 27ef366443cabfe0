/**
 * The deployments that have changed since a revision and may have had certain strings then: `before` of one of their entries since has them somewhere.
 * The log is read once, in its order, and no JSON is parsed. Of 100,000 deployments in the embedded database, half of which have changed, that takes a
 * fifth of the time in which they are unwound.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, containsAny } from '../../sql/parameters.ts'
import { changeLog as l } from '../../tables/schema.ts'
import { entriesToRead } from './summaries.ts'

/** Entries that are looked through in the time in which one deployment is unwound, and less. */
const entriesOfUnwound = 4

/**
 * Their keys, and maybe some more. `strings`: one of each list. `changed`: how many deployments have changed. Null: they are so many, or the log since
 * is so long, that to unwind all that have changed costs less.
 */
export async function keysThatHad(
  session: Session,
  revision: Revision,
  strings: readonly (readonly string[])[],
  changed: number,
): Promise<readonly number[] | null> {
  const [mostEntries, most] = [entriesOfUnwound * changed, Math.ceil(changed / 2)]
  const entries = await entriesToRead(session, {}, { from: revision + 1, to: null }, mostEntries + 1)
  if (entries > mostEntries) return null
  const isSince = sql`${l.firstRevision} > ${revision}::bigint`
  const isOfDeployment = sql`${l.deploymentKey} is not null and ${l.resourceKey} is null`
  const [row] = await session.rows<{ readonly is_few: boolean; readonly keys: readonly number[] }>(
    sql`with found as materialized (
        select ${l.deploymentKey} as key from ${l} where ${all([isSince, isOfDeployment, ...strings.map(hasOne)])} limit ${most + 1}
      )
      select (select count(*) from found) <= ${most} as is_few, array_to_json(array(select distinct key from found)) as keys`,
  )
  return row?.is_few ? row.keys : null
}

function hasOne(names: readonly string[]): SQL {
  return containsAny(
    sql`${l.before}::text`,
    names.map((name) => `"${name}"`),
  )
}
