/** Saves a batch's changes of desired state, one statement a table as in save.ts. */
import type { Millis } from '../../domain/values.ts'
import { insertOf } from '../sql/record-set.ts'
import { desiredDocuments, manifestEntries, manifests } from '../tables/schema.ts'
import type { DesiredEffects } from './contract.ts'
import { type Put, putRows } from './put.ts'

const keepDocuments = insertOf(desiredDocuments, { more: 'on conflict (digest) do nothing' })
const insertManifests = insertOf(manifests)
const putEntries = insertOf(manifestEntries, {
  more: 'on conflict (target_key, deployment_id, since) do update set until = excluded.until',
})

export function* putDesired({ documents, manifests: added, entries }: DesiredEffects, at: Millis): Iterable<Put> {
  yield* putRows(
    keepDocuments,
    [...documents].map(([digest, content]) => ({ digest, content })),
  )
  yield* putRows(
    insertManifests,
    added.map((manifest) => ({ ...manifest, at })),
  )
  yield* putRows(putEntries, [...entries])
}
