/** The reads of desired state of one snapshot (reader.ts). */
import type { Digest } from '../../../../domain/desired.ts'
import type { Snapshot } from '../../../../store/database.ts'
import { contentsOf, newestManifests } from '../../../../store/read/desired/desired.ts'
import {
  countDocuments,
  countManifests,
  type DocumentSelection,
  pageDocuments,
  pageManifests,
} from '../../../../store/read/desired/desired-pages.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched } from './batching.ts'

export function desiredLoaders(s: Snapshot) {
  return {
    manifest: batched((keys: readonly number[]) => newestManifests(s, keys)),
    manifests: batched((keys: readonly number[], page: PageRequest) => pageManifests(s, keys, page)),
    manifestCount: batched((keys: readonly number[]) => countManifests(s, keys)),
    documents: batched((keys: readonly number[], page: PageRequest, selection: DocumentSelection) =>
      pageDocuments(s, keys, page, selection),
    ),
    documentCount: batched((keys: readonly number[], selection: DocumentSelection) =>
      countDocuments(s, keys, selection),
    ),
    documentContent: batched(
      (digests: readonly Digest[]) => contentsOf(s, digests),
      (_, index) => index,
    ),
  }
}
