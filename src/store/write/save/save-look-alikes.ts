/**
 * New devices whose ID looks like that of a device that was known before. A report of a known device costs nothing for it: only the creation
 * of a device looks for others, by two indexes, in the statement or transaction that creates it.
 */
import { ownSite, type Target } from '../../../domain/target.ts'
import { insertOf } from '../../sql/record-set.ts'
import { deviceDeviations } from '../../tables/schema.ts'
import type { DeviationDelta, Effects } from '../contract.ts'

interface LookAlikes {
  /** Of devices that look like another new device of the batch. The statement that creates both does not see them. */
  readonly among: readonly DeviationDelta[]
  /** Those that may look like a stored device. Their `example` is the folded ID, and the statement replaces it by the ID that it finds. */
  readonly sought: readonly DeviationDelta[]
}

export function lookAlikesIn({ targets, at }: Pick<Effects, 'targets' | 'at'>): LookAlikes {
  const names = new Map<string, string>()
  const among: DeviationDelta[] = []
  const sought: DeviationDelta[] = []
  for (const { row, touch } of targets.values()) {
    if (touch !== 'created' || row.kind !== 'DEVICE') continue
    const folded = foldedOf(row)
    const known = names.get(folded)
    if (known === undefined) {
      names.set(folded, row.name)
      sought.push(deviationOf(row, at, folded))
    } else among.push(deviationOf(row, at, known))
  }
  return { among, sought }
}

function foldedOf({ foldedName, name }: Target): string {
  return foldedName ?? name
}

/** It is no report, so its count is 0. */
function deviationOf({ key }: Target, lastAt: number, example: string): DeviationDelta {
  return { targetKey: key, kind: 'ID_LOOKS_LIKE_ANOTHER', count: 0, lastAt, example }
}

/** Two conditions, each with an index, as in "or" PostgreSQL may read the whole table for each row. */
export const noteLookAlikes = insertOf(deviceDeviations, {
  found: {
    field: 'example',
    query: (folded) => `select name from (
      select key, name from targets where kind = 'DEVICE' and provider = '' and name = ${folded} and site_key = ${ownSite}
      union all select key, name from targets where folded_name = ${folded} and site_key = ${ownSite}) as known
      where known.key < x.target_key order by known.key limit 1`,
  },
})
