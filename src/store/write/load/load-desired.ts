/** Loads the desired state of devices for commands: the newest version of each device, with its documents. */

import { type Digest, largestManifest, type ManifestEntry } from '../../../domain/desired.ts'
import { storableJson } from '../../../domain/text.ts'
import type { Reader } from '../../database.ts'
import { deviceNamed, namedDeployments } from '../../sql/lateral-lookup.ts'
import type { LoadedDesired } from '../contract.ts'
import type { Needs } from '../needs.ts'
import { BatchTooLarge } from './measured.ts'

/** The wanted devices: by name, and the devices whose manifests list these deployments. */
const owners = `select t.key from json_array_elements_text($1::text::json) x ${deviceNamed('x')}
  union select e.target_key from json_array_elements_text($2::text::json) x
    cross join lateral (select e.target_key from manifest_entries e
      where e.deployment_key = x::bigint and e.until is null offset 0) e`
/**
 * Versions continue above the version that the device has adopted: a restored copy may not have that version, and the device refuses an older
 * one. Numbers above the limit are ignored, because a device could exhaust its versions with them.
 */
const mostAdopted = 2 ** 53 - 2 ** 40
const newestVersions = `select o.key as "targetKey", greatest(newest.version, adopted.version) as version from (${owners}) o
  left join lateral (select m.version from manifests m where m.target_key = o.key order by m.version desc limit 1) newest on true
  left join lateral (
    select (max(d.adopted_manifest_version) filter (where d.adopted_manifest_version < ${mostAdopted}))::bigint as version
    from ${namedDeployments('n.reporter = (select t.name from targets t where t.key = o.key) and not n.is_remote')} d) adopted on true`
const current = `(${owners}) o cross join lateral (select e.* from manifest_entries e
    where e.target_key = o.key and e.until is null offset 0) e`
const entry = `e.target_key as "targetKey", e.deployment_id as "deploymentId", e.deployment_key as "deploymentKey",
    e.device_id as "deviceId", e.since, e.until, e.digest, e.size`
const currentEntries = `select ${entry} from ${current}`
const listedEntries = `select ${entry} from json_array_elements_text($1::text::json) x
  cross join lateral (select e.* from manifest_entries e where e.deployment_key = x::bigint and e.until is null offset 0) e`
/** Each document once: the devices of a rollout share documents. */
const currentDocuments = `select d.digest, d.content from (select distinct e.digest from ${current}) e
  cross join lateral (select d.* from desired_documents d where d.digest = e.digest offset 0) d`

/** Throws BatchTooLarge if the documents of several manifests are larger than those of the largest one. */
export async function loadDesired(session: Reader, needs: readonly Needs[]): Promise<LoadedDesired | null> {
  const names = [...new Set(needs.flatMap(({ manifests }) => manifests ?? []))]
  const keys = [...new Set(needs.flatMap(({ manifestsOf }) => manifestsOf ?? []))]
  const listed = needs.flatMap((need) => need.listed ?? [])
  if (listed.length > 0) {
    const entries = await session.run<ManifestEntry>(listedEntries, [storableJson(listed)])
    return { versions: new Map(), entries: entries.map((one) => ({ ...one, content: '' })) }
  }
  if (names.length === 0 && keys.length === 0) return null
  const parameters = [storableJson(names), storableJson(keys)]
  const [versions, entries] = await Promise.all([
    session.run<{ targetKey: number; version: number | null }>(newestVersions, parameters),
    session.run<ManifestEntry>(currentEntries, parameters),
  ])
  const contents = needs.some((need) => need.withoutDocuments)
    ? new Map<Digest, string>()
    : await contentsOf(session, entries, parameters)
  return {
    versions: new Map(versions.flatMap(({ targetKey, version }) => (version === null ? [] : [[targetKey, version]]))),
    entries: entries.map((one) => ({ ...one, content: contents.get(one.digest) ?? '' })),
  }
}

async function contentsOf(
  session: Reader,
  entries: readonly ManifestEntry[],
  parameters: readonly string[],
): Promise<ReadonlyMap<Digest, string>> {
  const sizes = new Map(entries.map(({ digest, size }) => [digest, size]))
  const isOne = entries.every(({ targetKey }) => targetKey === entries[0]?.targetKey)
  if (!isOne && [...sizes.values()].reduce((sum, size) => sum + size, 0) > largestManifest) throw new BatchTooLarge()
  const documents = await session.run<{ digest: Digest; content: string }>(currentDocuments, parameters)
  return new Map(documents.map(({ digest, content }) => [digest, content]))
}
