/** Reads the desired state of devices: manifests, their versions and documents. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { type Digest, firstManifestVersion, type Manifest, type ManifestEntry } from '../../../domain/desired.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, isAnyOf, listParameter } from '../../sql/parameters.ts'
import { bytesOf, inParts, partBytes } from '../../sql/parts.ts'
import { fieldsBut, type RowOf, rowMapper } from '../../sql/row-mapping.ts'
import { desiredDocuments, manifestEntries, manifests } from '../../tables/schema.ts'
import { visibleAddition, visibleRemoval } from './desired-scope.ts'

const gone = alias(manifestEntries, 'gone')
const made = alias(manifests, 'made')

export type ManifestRecord = RowOf<typeof manifests>
export const toManifest: (row: ManifestRecord) => Manifest = rowMapper(manifests, fieldsBut(manifests))

type EntryRecord = RowOf<typeof manifestEntries>
const toEntry: (row: EntryRecord) => ManifestEntry = rowMapper(manifestEntries, fieldsBut(manifestEntries))

/** The newest versions, by the keys of devices. The first, empty version has no row. */
export async function newestManifests(session: Session, keys: readonly number[]): Promise<Map<number, Manifest>> {
  const rows = await session.rows<ManifestRecord>(
    sql`select distinct on (${manifests.targetKey}) ${manifests}.* from ${manifests}
      where ${isAnyOf(manifests.targetKey, keys, 'bigint')} order by ${manifests.targetKey}, ${manifests.version} desc`,
  )
  return new Map(rows.map((row) => [row.target_key, toManifest(row)]))
}

/** The entries of a version, by deploymentId. */
export async function entriesAt(session: Session, targetKey: number, version: number): Promise<ManifestEntry[]> {
  const rows = await session.rows<EntryRecord>(
    sql`select ${manifestEntries}.* from ${manifestEntries} where ${isListedAt(targetKey, version)}
      order by ${manifestEntries.deploymentId} collate "C"`,
  )
  return rows.map(toEntry)
}

interface DocumentAt extends ManifestEntry {
  readonly content: string
}

/** The same with the documents. */
export async function documentsAt(session: Session, targetKey: number, version: number): Promise<DocumentAt[]> {
  const entries = await entriesAt(session, targetKey, version)
  const contents = await contentsOf(
    session,
    entries.map(({ digest }) => digest),
  )
  return entries.flatMap((entry, index) => {
    const content = contents.get(index)
    return content === undefined ? [] : [{ ...entry, content }]
  })
}

/** A document of any version of the device's manifest. Null: the manifest never had it. */
export async function findDocument(
  session: Session,
  targetKey: number,
  deploymentId: string,
  digest: Digest,
): Promise<string | null> {
  const [row] = await session.rows<{ content: string }>(
    sql`select ${desiredDocuments.content} from ${desiredDocuments} where ${desiredDocuments.digest} = ${digest} and exists (
      select 1 from ${manifestEntries} where ${manifestEntries.targetKey} = ${targetKey}::bigint
        and ${manifestEntries.deploymentId} = ${deploymentId} and ${manifestEntries.digest} = ${digest})`,
  )
  return row?.content ?? null
}

/** The newest version whose bundle has that digest. */
export async function findBundle(session: Session, targetKey: number, digest: Digest): Promise<Manifest | null> {
  const [row] = await session.rows<ManifestRecord>(
    sql`select ${manifests}.* from ${manifests}
      where ${manifests.targetKey} = ${targetKey}::bigint and ${manifests.bundleDigest} = ${digest}
      order by ${manifests.version} desc limit 1`,
  )
  return row ? toManifest(row) : null
}

interface DocumentChange {
  readonly deploymentId: string
  /** Null: the deployment is no longer listed. */
  readonly digest: Digest | null
  /** Size of the document in bytes. */
  readonly size: number
}

export interface ManifestVersion<Change = DocumentChange> extends Manifest {
  /** The changes since the previous version. */
  readonly changes: readonly Change[]
}

/** The versions after `after`, in order, with their changes. A restricted reader gets the changes that it may see, and no versions without any. */
async function manifestVersions(
  session: Session,
  targetKey: number,
  after: number,
  limit: number,
): Promise<ManifestVersion[]> {
  const rows = await session.rows<ManifestRecord>(
    sql`select ${manifests}.* from ${manifests}
      where ${manifests.targetKey} = ${targetKey}::bigint and ${manifests.version} > ${after}::bigint
      order by ${manifests.version} limit ${limit}`,
  )
  const last = rows.at(-1)?.version
  if (last === undefined) return []
  const changes = await changesWithin(session, [{ targetKey, from: after + 1, to: last }])
  return rows
    .map((row) => ({ ...toManifest(row), changes: changes(targetKey, row.version) }))
    .filter((version) => !session.accessScope || version.changes.length > 0)
}

interface Span {
  readonly targetKey: number
  /** The first and the last version. */
  readonly from: number
  readonly to: number
}

/** The visible changes of the versions in these spans, by deploymentId. */
export async function changesWithin(
  session: Session,
  spans: readonly Span[],
): Promise<(targetKey: number, version: number) => readonly DocumentChange[]> {
  if (spans.length === 0) return () => []
  const own = manifestEntries
  const span = sql`unnest(${listParameter(
    spans.map(({ targetKey }) => targetKey),
    'bigint',
  )}, ${listParameter(
    spans.map(({ from }) => from),
    'bigint',
  )}, ${listParameter(
    spans.map(({ to }) => to),
    'bigint',
  )}) as span (target_key, low, high)`
  const changes = await session.rows<{
    target_key: number
    version: number
    deployment_id: string
    digest: Digest | null
    size: number
  }>(
    sql`select ${own.targetKey}, ${own.since} as version, ${own.deploymentId}, ${own.digest}, ${own.size}
        from ${span} join ${own} on ${own.targetKey} = span.target_key and ${own.since} between span.low and span.high
        where ${all(visibleAddition(session, own.deploymentKey, timeOfVersion(own.targetKey, own.since)))}
      union all
      select ${gone.targetKey}, ${gone.until}, ${gone.deploymentId}, null, 0
        from ${span} join ${manifestEntries} ${gone} on ${gone.targetKey} = span.target_key and ${gone.until} between span.low and span.high
        where ${all(visibleRemoval(session, gone.deploymentKey, timeOfVersion(gone.targetKey, gone.until)))}
          and not exists (select 1 from ${own} where ${own.targetKey} = ${gone.targetKey}
            and ${own.deploymentId} = ${gone.deploymentId} and ${own.since} = ${gone.until})`,
  )
  const nameOf = (targetKey: number, version: number): string => `${targetKey} ${version}`
  const byVersion = Map.groupBy(changes, (change) => nameOf(change.target_key, change.version))
  return (targetKey, version) =>
    (byVersion.get(nameOf(targetKey, version)) ?? [])
      .map(({ deployment_id: deploymentId, digest, size }) => ({ deploymentId, digest, size }))
      .toSorted((a, b) => (a.deploymentId < b.deploymentId ? -1 : 1))
}

/** The same with the documents: at most `limit` versions, and at most `bytes` of documents. */
export async function manifestHistory(
  session: Session,
  targetKey: number,
  after: number = firstManifestVersion,
  { limit = 1_000, bytes = partBytes } = {},
): Promise<ManifestVersion<DocumentChange & { readonly content: string | null }>[]> {
  const sized = (await manifestVersions(session, targetKey, after, limit)).map((version) => ({
    version,
    size: version.changes.reduce((sum, { size }) => sum + size, 0),
  }))
  const [part = []] = inParts(sized, bytes)
  const versions = part.map(({ version }) => version)
  const digests = [...new Set(versions.flatMap(({ changes }) => changes.flatMap(({ digest }) => digest ?? [])))]
  const contents = new Map(
    [...(await contentsOf(session, digests))].map(([place, content]) => [digests[place], content]),
  )
  return versions.map((version) => ({
    ...version,
    changes: version.changes.map((change) => ({
      ...change,
      content: change.digest === null ? null : (contents.get(change.digest) ?? null),
    })),
  }))
}

/** The range of versions that have a document, with the author and the reason. */
export interface DocumentStay extends ManifestEntry {
  readonly at: Millis
  readonly caller: string
  readonly why: string
}

export type StayRecord = EntryRecord & {
  readonly at: Millis
  readonly who: string
  readonly why: string
  /** Whether the reader may see that the document was replaced or removed. */
  readonly is_end_seen: boolean
}

export function toStay(row: StayRecord): DocumentStay {
  const { until, ...entry } = toEntry(row)
  return { ...entry, until: row.is_end_seen ? until : null, at: row.at, caller: row.who, why: row.why }
}

/** By the index of the digest in the list. */
export async function contentsOf(session: Session, digests: readonly Digest[]): Promise<Map<number, string>> {
  const contents = new Map<Digest, string>()
  const sized = await session.rows<{ digest: Digest; size: number }>(
    sql`select ${desiredDocuments.digest}, ${bytesOf(sql`${desiredDocuments.content}`)} as size from ${desiredDocuments}
      where ${isAnyOf(desiredDocuments.digest, digests, 'text')}`,
  )
  for (const part of inParts(sized)) {
    const some = part.map(({ digest }) => digest)
    const rows = await session.rows<{ digest: Digest; content: string }>(
      sql`select ${desiredDocuments}.* from ${desiredDocuments} where ${isAnyOf(desiredDocuments.digest, some, 'text')}`,
    )
    for (const { digest, content } of rows) contents.set(digest, content)
  }
  return new Map(
    digests.flatMap((digest, index) => (contents.has(digest) ? [[index, contents.get(digest) ?? '']] : [])),
  )
}

/** When a version was made. Null: there is none. */
export function timeOfVersion(targetKey: SQLWrapper, version: SQLWrapper): SQL {
  return sql`(select ${made.at} from ${manifests} ${made} where ${made.targetKey} = ${targetKey} and ${made.version} = ${version})`
}

function isListedAt(targetKey: number, version: number): SQL {
  return sql`${manifestEntries.targetKey} = ${targetKey}::bigint and ${manifestEntries.since} <= ${version}::bigint
    and (${manifestEntries.until} is null or ${manifestEntries.until} > ${version}::bigint)`
}
