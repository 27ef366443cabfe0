/** What a reconciled sink last got about each resource, so that the next round sends only the differences. */
import { sql } from 'drizzle-orm'
import { storableJson } from '../../domain/text.ts'
import type { Session } from '../database.ts'
import { sinkMarks } from '../tables/schema.ts'

export interface Mark {
  readonly resourceKey: number
  readonly hash: string
  readonly detailHash: string | null
  readonly told: Readonly<Record<string, unknown>>
}

interface MarkRecord {
  readonly resource_key: number
  readonly hash: string
  readonly detail_hash: string | null
  readonly told: Mark['told']
}

/** Marks of one statement: an instance may have a hundred thousand resources. */
const step = 5_000

export async function marksOf(session: Session, sinkKey: number): Promise<Map<number, Mark>> {
  const found = new Map<number, Mark>()
  const read = (after: number): Promise<MarkRecord[]> =>
    session.rows(sql`select ${sinkMarks}.* from ${sinkMarks}
      where ${sinkMarks.sinkKey} = ${sinkKey}::bigint and ${sinkMarks.resourceKey} > ${after}::bigint
      order by ${sinkMarks.resourceKey} limit ${step}`)
  for (let rows = await read(0); rows.length > 0; rows = await read(rows.at(-1)?.resource_key ?? 0))
    for (const { resource_key: resourceKey, hash, detail_hash: detailHash, told } of rows)
      found.set(resourceKey, { resourceKey, hash, detailHash, told })
  return found
}

export async function writeMarks(
  session: Session,
  sinkKey: number,
  put: readonly Mark[],
  drop: readonly number[],
): Promise<void> {
  if (put.length > 0)
    await session.run(
      `insert into sink_marks (sink_key, resource_key, hash, detail_hash, told)
       select $1::bigint, "resourceKey", hash, "detailHash", told
       from json_to_recordset($2::text::json) as x("resourceKey" bigint, hash text, "detailHash" text, told json)
       on conflict (sink_key, resource_key) do update
         set hash = excluded.hash, detail_hash = excluded.detail_hash, told = excluded.told`,
      [sinkKey, storableJson(put)],
    )
  if (drop.length > 0)
    await session.run(
      `delete from sink_marks where sink_key = $1::bigint
         and resource_key in (select x::bigint from json_array_elements_text($2::text::json) x)`,
      [sinkKey, storableJson(drop)],
    )
}
