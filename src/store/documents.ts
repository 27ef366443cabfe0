/** Bodies kept as they came, to be given back: k8splugin's instances. */
import { sql } from 'drizzle-orm'
import type { Statement } from '../ingest/command.ts'
import type { Session } from './database.ts'
import { all, isAnyOf } from './parameters.ts'
import { instances } from './schema.ts'
import { seesInstance } from './sight.ts'

export function storeDocument(instanceKey: number, document: string): Statement {
  return {
    text: 'update instances set document = $2::text::json where key = $1::bigint',
    parameters: [instanceKey, document],
  }
}

export async function documentsOf(session: Session, instanceKeys: readonly number[]): Promise<Map<number, unknown>> {
  const rows = await session.rows<{ key: number; document: unknown }>(
    sql`select ${instances.key}, ${instances.document} from ${instances} 
      where ${all([isAnyOf(instances.key, instanceKeys, 'bigint'), ...seesInstance(session, instances)])}`,
  )
  return new Map(rows.map(({ key, document }) => [key, document]))
}
