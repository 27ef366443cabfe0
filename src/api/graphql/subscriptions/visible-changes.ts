/** Filters live changes by access scope, against the present database. Callers with the same scope share one query. */
import { type AccessScope, accessScopeKey } from '../../../domain/access-scope.ts'
import type { ShowChanges } from '../../../feed/event-queue.ts'
import { coalesceByKey } from '../../../store/connection/coalesce.ts'
import type { Database, Session } from '../../../store/database.ts'
import { visibleChanges, withScope } from '../../../store/read/access-scope.ts'

type Query = ReturnType<typeof coalesceByKey<Awaited<ReturnType<ShowChanges>>>>

/** The pending queries of each session. */
const pending = new WeakMap<Session, Query>()

export function visibleChangesOf({ session }: Pick<Database, 'session'>, accessScope: AccessScope): ShowChanges {
  const query: Query = pending.get(session) ?? coalesceByKey()
  pending.set(session, query)
  const scope = accessScopeKey(accessScope)
  const narrowed = withScope(session, accessScope)
  return (changes) =>
    query(`${scope} ${changes.map(({ revision }) => revision).join()}`, async () => {
      const visible = await visibleChanges(narrowed, changes)
      return visible.map(({ change }) => change)
    })
}
