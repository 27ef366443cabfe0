/** Reads who declared deployments last. Each answer is one probe of an index, for each rollout or project. */
import { type SQL, sql } from 'drizzle-orm'
import type { Declaration } from '../../../domain/desired.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, asParents, listParameter } from '../../sql/parameters.ts'
import { type RowOf, rowMapper } from '../../sql/row-mapping.ts'
import { declarations } from '../../tables/schema.ts'
import { seesWholeRollouts } from './rollout-life.ts'

type DeclarationRecord = RowOf<typeof declarations>
const toDeclaration: (row: DeclarationRecord) => Declaration = rowMapper(declarations, [
  'rolloutKey',
  'revision',
  'at',
  'caller',
  'why',
])

/** The newest declaration in each of these rollouts, up to a revision. */
export async function newestDeclarations(
  session: Session,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, Declaration>> {
  if (!seesWholeRollouts(session)) return new Map()
  const rows = await session.rows<DeclarationRecord>(
    sql`select newest.* from ${asParents(rolloutKeys)}
      cross join lateral (${newest([sql`${declarations.rolloutKey} = parent.key`], asOf)}) as newest`,
  )
  return new Map(rows.map((row) => [row.rollout_key, toDeclaration(row)]))
}

/** The newest declaration in the rollouts that the reader sees. */
export async function newestOfFleet(session: Session, asOf: Revision | null): Promise<Declaration | null> {
  if (!seesWholeRollouts(session)) return null
  const projects = session.accessScope?.projects
  const query = projects
    ? sql`select newest.* from unnest(${listParameter(projects, 'text')}) as own(project)
        cross join lateral (${newest([sql`${declarations.project} = own.project`], asOf)}) as newest
        order by newest.revision desc limit 1`
    : newest([], asOf)
  const [row] = await session.rows<DeclarationRecord>(query)
  return row ? toDeclaration(row) : null
}

function newest(conditions: readonly SQL[], asOf: Revision | null): SQL {
  const past = asOf === null ? [] : [sql`${declarations.revision} <= ${asOf}::bigint`]
  return sql`select ${declarations}.* from ${declarations} where ${all([...conditions, ...past])} order by ${declarations.revision} desc limit 1`
}
