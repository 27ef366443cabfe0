/** The desired state of devices by page, newest first: versions of manifests, and documents of deployments. */
import { type SQL, sql } from 'drizzle-orm'
import type { Digest, Manifest } from '../../../domain/desired.ts'
import type { Digits } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import type { Order, Page, PageRequest } from '../../sql/order.ts'
import { edgeOf, pageOf, sorted, within } from '../../sql/page.ts'
import { all, asParents } from '../../sql/parameters.ts'
import { manifestEntries, manifests } from '../../tables/schema.ts'
import {
  changesWithin,
  type DocumentStay,
  type ManifestRecord,
  type ManifestVersion,
  type StayRecord,
  timeOfVersion,
  toManifest,
  toStay,
} from './desired.ts'
import { visibleAddition, visibleRemoval, visibleStay } from './desired-scope.ts'

const newestVersionFirst: Order<Manifest> = {
  name: 'MANIFEST_DESC',
  keys: [{ by: manifests.version, type: 'bigint', descending: true, of: ({ version }) => version }],
}

/** By device: the versions of its manifest with their changes. A restricted reader gets no versions without a change that it may see. */
export async function pageManifests(
  session: Session,
  targetKeys: readonly number[],
  page: PageRequest,
): Promise<Map<number, Page<ManifestVersion>>> {
  const pages = await pageOf<Manifest, ManifestRecord>(session, {
    parents: [...new Set(targetKeys)],
    order: newestVersionFirst,
    page,
    select: (stretch) =>
      sql`select ${manifests}.*, ${manifests.version} as key ${fromManifests(session, within(newestVersionFirst, stretch))}
        ${sorted(newestVersionFirst, stretch)}`,
    toNode: toManifest,
  })
  const spans = [...pages].flatMap(([targetKey, { edges }]) => {
    const versions = edges.map(({ node }) => node.version)
    return versions.length === 0 ? [] : [{ targetKey, from: Math.min(...versions), to: Math.max(...versions) }]
  })
  const changes = await changesWithin(session, spans)
  return new Map(
    [...pages].map(([targetKey, { edges, ...rest }]) => [
      targetKey,
      {
        ...rest,
        edges: edges.map((edge) =>
          edgeOf({ ...edge.node, changes: changes(targetKey, edge.node.version) }, () => edge.cursor),
        ),
      },
    ]),
  )
}

/** Zero-filled. */
export function countManifests(session: Session, targetKeys: readonly number[]): Promise<Map<number, number>> {
  return countOf(session, targetKeys, fromManifests(session, []))
}

/** Uses parent.key. The list of visible versions does not depend on the row, so it is read once for each parent. */
function fromManifests(session: Session, conditions: readonly SQL[]): SQL {
  const entry = manifestEntries
  const added = visibleAddition(session, entry.deploymentKey, timeOfVersion(entry.targetKey, entry.since))
  const removed = visibleRemoval(session, entry.deploymentKey, timeOfVersion(entry.targetKey, entry.until))
  const visible = session.accessScope
    ? [
        sql`${manifests.version} = any(array(
          select ${entry.since} from ${entry} where ${entry.targetKey} = parent.key and ${all(added)}
          union all select ${entry.until} from ${entry} where ${entry.targetKey} = parent.key and ${entry.until} is not null
            and ${all(removed)}))`,
      ]
    : []
  return sql`from ${manifests} where ${all([sql`${manifests.targetKey} = parent.key`, ...visible, ...conditions])}`
}

/** Selects documents of deployments. */
export interface DocumentSelection {
  /** Without later versions. */
  readonly upTo: Digits | null
  readonly digest: Digest | null
}

// A deployment can be in the manifests of two devices since the same moment.
const newestDocumentFirst: Order<DocumentStay> = {
  name: 'DOCUMENT_DESC',
  keys: [
    {
      by: sql`(extract(epoch from ${manifests.at}) * 1000)::bigint`,
      type: 'bigint',
      descending: true,
      of: ({ at }) => at,
    },
    { by: manifestEntries.since, type: 'bigint', descending: true, of: ({ since }) => since },
    { by: manifestEntries.targetKey, type: 'bigint', descending: true, of: ({ targetKey }) => targetKey },
  ],
}

/** By deployment: its documents in the manifest of any device. A restricted reader gets the end of a document only if it may see that, too. */
export function pageDocuments(
  session: Session,
  deploymentKeys: readonly number[],
  page: PageRequest,
  selection: DocumentSelection,
): Promise<Map<number, Page<DocumentStay>>> {
  const entry = manifestEntries
  const isEndSeen = all(visibleRemoval(session, entry.deploymentKey, timeOfVersion(entry.targetKey, entry.until)))
  return pageOf<DocumentStay, StayRecord>(session, {
    parents: [...new Set(deploymentKeys)],
    order: newestDocumentFirst,
    page,
    select: (stretch) =>
      sql`select ${entry}.*, ${manifests.at}, ${manifests.caller}, ${manifests.why}, ${isEndSeen} as is_end_seen, ${entry.since} as key
        ${fromDocuments(session, selection, within(newestDocumentFirst, stretch))} ${sorted(newestDocumentFirst, stretch)}`,
    toNode: toStay,
  })
}

/** Zero-filled. */
export function countDocuments(
  session: Session,
  deploymentKeys: readonly number[],
  selection: DocumentSelection,
): Promise<Map<number, number>> {
  return countOf(session, deploymentKeys, fromDocuments(session, selection, []))
}

function fromDocuments(session: Session, { upTo, digest }: DocumentSelection, conditions: readonly SQL[]): SQL {
  const entry = manifestEntries
  const end = timeOfVersion(entry.targetKey, entry.until)
  return sql`from ${entry}
    join ${manifests} on ${manifests.targetKey} = ${entry.targetKey} and ${manifests.version} = ${entry.since}
    where ${all([
      sql`${entry.deploymentKey} = parent.key`,
      ...(upTo === null ? [] : [sql`${entry.since} <= ${upTo}::bigint`]),
      ...(digest === null ? [] : [sql`${entry.digest} = ${digest}`]),
      ...visibleStay(session, { deploymentKey: entry.deploymentKey, from: manifests.at, until: end }),
      ...conditions,
    ])}`
}

async function countOf(session: Session, keys: readonly number[], from: SQL): Promise<Map<number, number>> {
  const rows = await session.rows<{ parent: number; n: number }>(
    sql`select parent.key as parent, counted.n from ${asParents([...new Set(keys)])}
      cross join lateral (select count(*)::int as n ${from}) as counted`,
  )
  return new Map(rows.map(({ parent, n }) => [parent, n]))
}
