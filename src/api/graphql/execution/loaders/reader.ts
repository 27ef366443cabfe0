/**
 * All reads of one snapshot. Equal reads on one level of a query become one statement (DataLoader), and results are
 * cached. A reader belongs to its snapshot, so all readers of a shared snapshot share its cache.
 */
import { type AccessScope, accessScopeKey } from '../../../../domain/access-scope.ts'
import type { Change } from '../../../../domain/change.ts'
import type { Millis, Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import { visibleChanges, withScope } from '../../../../store/read/access-scope.ts'
import { audit } from '../../../../store/read/counts/audit.ts'
import { newestMoment, requireRetained, resolvePast } from '../../../../store/read/past.ts'
import { type SearchKind, search } from '../../../../store/read/search.ts'
import { alertLoaders } from './alerts.ts'
import { remembered } from './batching.ts'
import { changeLoaders } from './changes.ts'
import { deploymentLoaders } from './deployments.ts'
import { desiredLoaders } from './desired.ts'
import { groupLoaders } from './groups.ts'
import { listLoaders } from './lists.ts'
import { reportLoaders } from './reports.ts'
import { resourceLoaders } from './resources.ts'
import { rolloutLoaders } from './rollouts.ts'
import { sinkLoaders } from './sinks.ts'
import { targetLoaders } from './targets.ts'

export type Reader = ReturnType<typeof createReader>

/** One reader per snapshot and access scope. */
export function readerOf(snapshot: Snapshot, accessScope: AccessScope | null): Reader {
  const key = accessScope === null ? 'reader' : `reader ${accessScopeKey(accessScope)}`
  const known = snapshot.derived.get(key) as Reader | undefined
  if (known) return known
  const reader = createReader(withScope(snapshot, accessScope))
  snapshot.derived.set(key, reader)
  return reader
}

function createReader(s: Snapshot) {
  return {
    head: s.head,
    /** The newest change that the caller may know of, and its time (store/read/changes/newest-seen.ts). */
    newest: remembered(() => newestMoment(s, null)),
    /** Whether the caller has an access scope. */
    isNarrow: s.accessScope !== undefined,
    /** The changes that the caller can see. */
    see: (changes: readonly Change[]) => visibleChanges(s, changes),
    /** Throws HISTORY_EXPIRED if changes after that revision have expired. */
    retained: (revision: Revision) => requireRetained(s, revision),
    /** The revision selected by the arguments `asOf` and `atRevision`. */
    past: remembered((asOf: Millis | null, atRevision: Revision | null) =>
      resolvePast(s, { asOf, atRevision: atRevision === null ? null : String(atRevision) }),
    ),
    search: remembered((text: string, kinds: readonly SearchKind[], limit: number) => search(s, text, kinds, limit)),
    drift: remembered(() => audit(s)),
    ...deploymentLoaders(s),
    ...groupLoaders(s),
    ...targetLoaders(s),
    ...rolloutLoaders(s),
    ...listLoaders(s),
    ...resourceLoaders(s),
    ...changeLoaders(s),
    ...alertLoaders(s),
    ...desiredLoaders(s),
    ...reportLoaders(s),
    ...sinkLoaders(s),
  }
}
