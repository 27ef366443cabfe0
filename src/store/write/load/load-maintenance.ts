/** Loads maintenance windows for the writer. */
import { storableJson } from '../../../domain/text.ts'
import type { Reader } from '../../database.ts'
import { toWindow, type WindowRecord } from '../../sql/rows.ts'
import type { LoadedMaintenance } from '../contract.ts'

export async function loadMaintenance(session: Reader, keys: readonly number[]): Promise<LoadedMaintenance> {
  const rows = await session.run<WindowRecord>(
    'select w.* from maintenance_windows w where w.key in (select x::bigint from json_array_elements_text($1::text::json) x)',
    [storableJson(keys)],
  )
  const [counted] = await session.run<{ n: number }>(
    'select count(*)::int as n from maintenance_windows where next_at is not null and ended_revision is null',
  )
  return { count: counted?.n ?? 0, windows: rows.map(toWindow) }
}
