/** All rows of an export, part by part, as a caller with an access scope gets them. */

import type { Row } from '../../src/api/export/columns.ts'
import type { Extent, KindName, Sessions } from '../../src/api/export/kinds/kind.ts'
import { kinds } from '../../src/api/export/kinds/kinds.ts'
import type { AccessScope } from '../../src/domain/access-scope.ts'
import type { Database } from '../../src/store/database.ts'
import { withScope } from '../../src/store/read/access-scope.ts'

export async function exportRows(
  database: Database,
  kind: KindName,
  parameters: Readonly<Record<string, string>> = {},
  accessScope: AccessScope | null = null,
): Promise<Row[]> {
  async function within<T>(work: (sessions: Sessions) => Promise<T>): Promise<T> {
    const whole = await database.snapshot()
    try {
      return await work({ scoped: withScope(whole, accessScope), whole })
    } finally {
      await whole.close()
    }
  }
  const query = new Map(Object.entries(parameters))
  const extent: Extent = await within((sessions) => kinds[kind].open(sessions, query))
  const rows: Row[] = []
  for (let after: string | null = null; ; ) {
    const { rows: some, next } = await within((sessions) => extent.read(sessions, after))
    rows.push(...some)
    if (next === null) return rows
    after = next
  }
}
