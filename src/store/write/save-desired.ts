/** Saves a batch's changes of desired state, one statement a table as in save.ts. */
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { insertOf, type Write } from '../sql/record-set.ts'
import { desiredDocuments, manifestEntries, manifests } from '../tables/schema.ts'
import type { DesiredEffects } from './contract.ts'

const keepDocuments = insertOf(desiredDocuments, { more: 'on conflict (digest) do nothing' })
const insertManifests = insertOf(manifests)
const putEntries = insertOf(manifestEntries, {
  more: 'on conflict (target_key, deployment_id, since) do update set until = excluded.until',
})

export function saveDesired(session: Session, effects: DesiredEffects, at: Millis): Promise<unknown>[] {
  const put = <Row extends object>(write: Write<Row>, rows: readonly Row[]): Promise<unknown>[] =>
    rows.length === 0 ? [] : [session.run(write.text, write.parameters(rows))]
  return [
    ...put(
      keepDocuments,
      [...effects.documents].map(([digest, content]) => ({ digest, content })),
    ),
    ...put(
      insertManifests,
      effects.manifests.map((manifest) => ({ ...manifest, at })),
    ),
    ...put(putEntries, [...effects.entries]),
  ]
}
