/** The reads of changes of one snapshot (reader.ts). */
import type { ChangeFilter } from '../../../../domain/nouns/change.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import { countChanges } from '../../../../store/read/changes/change-counts.ts'
import { pageChanges } from '../../../../store/read/changes/changes.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { perChangeParent } from './parents.ts'

export function changeLoaders(s: Snapshot) {
  return {
    changes: perChangeParent((scope, filter: ChangeFilter, page: PageRequest, until: Revision | null) =>
      pageChanges(s, scope, filter, page, until),
    ),
    changeCount: perChangeParent((scope, filter: ChangeFilter, until: Revision | null) =>
      countChanges(s, scope, filter, until),
    ),
  }
}
