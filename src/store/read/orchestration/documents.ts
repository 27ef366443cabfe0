/** Bodies that are stored and returned unchanged: instances of resource bundles. */
import { sql } from 'drizzle-orm'
import type { Session } from '../../database.ts'
import { all, isAnyOf } from '../../sql/parameters.ts'
import { instances } from '../../tables/schema.ts'
import { visibleInstance } from '../access-scope.ts'

export async function documentsOf(session: Session, instanceKeys: readonly number[]): Promise<Map<number, unknown>> {
  const rows = await session.rows<{ key: number; document: unknown }>(
    sql`select ${instances.key}, ${instances.document} from ${instances} 
      where ${all([isAnyOf(instances.key, instanceKeys, 'bigint'), ...visibleInstance(session, instances)])}`,
  )
  return new Map(rows.map(({ key, document }) => [key, document]))
}
