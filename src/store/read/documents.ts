/** Bodies that are stored and returned unchanged: k8splugin's instances. */
import { sql } from 'drizzle-orm'
import { storableJsonText } from '../../domain/text.ts'
import type { Session } from '../database.ts'
import { all, isAnyOf } from '../sql/parameters.ts'
import { instances } from '../tables/schema.ts'
import type { Statement } from '../write/contract.ts'
import { visibleInstance } from './access-scope.ts'

export function storeDocument(instanceKey: number, document: string): Statement {
  return {
    text: 'update instances set document = $2::text::json where key = $1::bigint',
    parameters: [instanceKey, storableJsonText(document)],
  }
}

export async function documentsOf(session: Session, instanceKeys: readonly number[]): Promise<Map<number, unknown>> {
  const rows = await session.rows<{ key: number; document: unknown }>(
    sql`select ${instances.key}, ${instances.document} from ${instances} 
      where ${all([isAnyOf(instances.key, instanceKeys, 'bigint'), ...visibleInstance(session, instances)])}`,
  )
  return new Map(rows.map(({ key, document }) => [key, document]))
}
