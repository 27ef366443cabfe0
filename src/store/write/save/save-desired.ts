/** Saves a batch's changes of desired state, one statement a table as in save.ts. */
import { storableJson } from '../../../domain/text.ts'
import type { Millis } from '../../../domain/values.ts'
import { insertOf, iso } from '../../sql/record-set.ts'
import { desiredDocuments, manifestEntries, manifests } from '../../tables/schema.ts'
import type { DesiredEffects } from '../contract.ts'
import { type Put, putRows, putText } from './put.ts'

const keepDocuments = insertOf(desiredDocuments, { more: 'on conflict (digest) do nothing' })
const insertManifests = insertOf(manifests)
const putEntries = insertOf(manifestEntries, {
  more: 'on conflict (target_key, deployment_id, since) do update set until = excluded.until',
})

/** The rollouts are stored already. They are not loaded: a declaration need not name them. */
const insertDeclarations = `insert into declarations (rollout_key, revision, project, at, who, why)
  select r.key, x.revision, r.project, $2::timestamptz, x.caller, x.why
  from json_to_recordset($1::text::json) as x("rolloutKey" bigint, revision bigint, caller text, why text)
  join rollouts r on r.key = x."rolloutKey"`

export function* putDesired(
  { documents, manifests: added, declarations: declared, entries }: DesiredEffects,
  at: Millis,
): Iterable<Put> {
  yield* putRows(
    keepDocuments,
    [...documents].map(([digest, content]) => ({ digest, content })),
  )
  yield* putRows(
    insertManifests,
    added.map((manifest) => ({ ...manifest, at })),
  )
  if (declared.length > 0) yield putText({ text: insertDeclarations, parameters: [storableJson(declared), iso(at)] })
  yield* putRows(putEntries, [...entries])
}
