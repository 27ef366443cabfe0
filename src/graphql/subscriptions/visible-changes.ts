/** Filters live changes by access scope, against the present database. Callers with the same scope share one query. */

import { type AccessScope, accessScopeKey } from '../../domain/access-scope.ts'
import type { Change } from '../../domain/change.ts'
import type { Database, Session } from '../../store/database.ts'
import { visibleChanges, withScope } from '../../store/read/access-scope.ts'

export type ShowChanges = (changes: readonly Change[]) => Promise<readonly (Change | null)[]>

/** Pending queries. */
const pending = new WeakMap<Session, Map<string, ReturnType<ShowChanges>>>()

export function visibleChangesOf({ session }: Pick<Database, 'session'>, accessScope: AccessScope): ShowChanges {
  let ofSession = pending.get(session)
  if (!ofSession) {
    ofSession = new Map()
    pending.set(session, ofSession)
  }
  const [queries, scope, narrowed] = [ofSession, accessScopeKey(accessScope), withScope(session, accessScope)]
  return (changes) => {
    const key = `${scope} ${changes.map(({ revision }) => revision).join()}`
    let answer = queries.get(key)
    if (!answer) {
      answer = visibleChanges(narrowed, changes).then((seen) => seen.map(({ change }) => change))
      queries.set(key, answer)
      const forget = (): void => void queries.delete(key)
      answer.then(forget, forget)
    }
    return answer
  }
}
