/** Changes of manifests by declarations, and of the deployments that the manifests then list. */
import { type Digest, largestManifest, type ManifestEntry, manifestOwner } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import { desireDocument } from '../../domain/transition/transition.ts'
import type { Digits, Revision } from '../../domain/values.ts'
import { eachPaced, type Paced } from '../../platform/limits/pace.ts'
import type { WritePart } from '../command.ts'
import { eachPart } from '../command-parts.ts'
import { type ItemList, itemsAt } from '../item-list.ts'
import type { Cause, DesiredDocument, DigestBundle } from '../unit-of-work/desired-state.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

export interface DeploymentDeclaration {
  readonly deviceId: string
  readonly deploymentId: string
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly components: readonly string[] | null
  /** The document that the device should fetch and apply. Absent: unchanged. */
  readonly document?: DesiredDocument
}

/** The author, the reason and the bundle of a change of manifests. */
export interface ManifestUpdate {
  readonly cause: Cause
  readonly bundle: DigestBundle
}

/** With the index in the command. */
export type Listed = DeploymentDeclaration & { readonly index: number }

/** A deployment that a declaration has made, or found. */
export interface OneDeclared {
  /** Of the declaration, in the command. */
  readonly index: number
  /** The deployment's. */
  readonly key: number
  /** The device whose manifest lists the deployment. */
  readonly ownerKey: number
}

/** A rollout, and the newest revision of one of its deployments that the command has changed. */
type Changed = readonly [rolloutKey: number, revision: Revision]

export interface Part {
  readonly revision: Revision
  readonly changed: readonly Changed[]
}

/** The manifests, some at a time, and then their deployments. */
export async function desireInParts(
  write: WritePart,
  deployments: ItemList<DeploymentDeclaration>,
  declared: readonly OneDeclared[],
  update: ManifestUpdate,
): Promise<readonly Part[]> {
  const documented = declared.filter(({ index }) => deployments.at(index)?.document)
  const owners = [...Map.groupBy(documented, ({ ownerKey }) => ownerKey).values()]
  const desired = await eachPart(owners, (part) => {
    const some = part.flat()
    const listed = itemsAt(
      deployments,
      some.map(({ index }) => index),
    )
    const names = [...new Set(listed.map(({ deviceId }) => manifestOwner(deviceId)))]
    return write({
      needs: { manifests: names, devices: names },
      *decide(work) {
        yield* refuseTooLarge(work, listed)
        return yield* changeManifests(work, listed, some, update)
      },
    })
  })
  return followManifests(write, desired.flat())
}

/** The deployments whose documents in manifests have changed. */
export function followManifests(write: WritePart, desired: readonly Desired[]): Promise<readonly Part[]> {
  return eachPart(desired, (part) =>
    write({
      needs: { deploymentKeys: part.map(({ key }) => key) },
      *decide(work) {
        const before = work.revision()
        yield* eachPaced(part, (one) => setDesired(work, one))
        const keys = part.map(({ key }) => key)
        return { revision: work.revision(), changed: changedIn(work, keys, before) }
      },
    }),
  )
}

/** Limits the size of a device's documents together: they form one archive, and each change loads all of them. */
export function* refuseTooLarge(work: UnitOfWork, deployments: readonly DeploymentDeclaration[]): Paced<void> {
  const documented = deployments.filter(({ document }) => document)
  for (const [owner, declared] of Map.groupBy(documented, ({ deviceId }) => manifestOwner(deviceId))) {
    yield
    const key = work.device(owner)?.key ?? null
    let size = key === null ? 0 : work.desired.size(key)
    for (const { deploymentId, document } of declared) {
      const former = listedIn(work, key, deploymentId)
      size += (document?.size ?? 0) - (former?.size ?? 0)
    }
    if (size > largestManifest)
      throw new DomainError(
        'CONFLICT',
        `what ${owner} should run would be ${size} bytes of documents, and may be ${largestManifest}: remove something first`,
      )
  }
}

export function listedIn(work: UnitOfWork, ownerKey: number | null, deploymentId: string): ManifestEntry | null {
  return ownerKey === null ? null : work.desired.entry(ownerKey, deploymentId)
}

interface Desired {
  readonly key: number
  readonly version: Digits
  /** Null: the manifest does not list it any more. */
  readonly digest: Digest | null
}

/** Creates one new version for each device whose desired state changes, for any number of documents. `listed`: at least the declarations of `declared`. */
export function* changeManifests(
  work: UnitOfWork,
  listed: readonly Listed[],
  declared: readonly OneDeclared[],
  { cause, bundle }: ManifestUpdate,
): Paced<readonly Desired[]> {
  const declarations = new Map(listed.map((declaration) => [declaration.index, declaration]))
  const news = declared.flatMap(({ index, key, ownerKey }) => {
    const { deploymentId = '', deviceId = '', document } = declarations.get(index) ?? {}
    const known = work.desired.entry(ownerKey, deploymentId)
    const isNews = document && !(known?.digest === document.digest && known.deploymentKey === key)
    return isNews ? [{ ownerKey, entry: { deploymentId, deviceId, deploymentKey: key }, document }] : []
  })
  const desired: Desired[] = []
  for (const [ownerKey, put] of Map.groupBy(news, (one) => one.ownerKey)) {
    const version = String(work.desired.change(ownerKey, { put, drop: [] }, cause, bundle))
    for (const { entry, document } of put) desired.push({ key: entry.deploymentKey, version, digest: document.digest })
    yield
  }
  return desired
}

export function changedIn(work: UnitOfWork, keys: readonly number[], before: Revision): readonly Changed[] {
  const newest = new Map<number, Revision>()
  for (const key of keys) {
    const { rolloutKey, revision } = work.deploymentByKey(key) ?? { rolloutKey: 0, revision: 0 }
    if (revision > Math.max(newest.get(rolloutKey) ?? 0, before)) newest.set(rolloutKey, revision)
  }
  return [...newest]
}

/**
 * Once for each rollout whose deployments the command has changed. Not for a rollout that a deployment leaves: the rollout that it joins may be in
 * another project, and readers of the former project must not see who declared something there, or why.
 */
export function recordAuthor(work: UnitOfWork, changed: readonly Changed[], cause: Cause): void {
  // A later part has later revisions.
  for (const [rolloutKey, revision] of new Map(changed)) work.desired.declared({ rolloutKey, revision, ...cause })
}

export function setDesired(work: UnitOfWork, { key, version, digest }: Desired): void {
  const known = work.deploymentByKey(key)
  if (known) work.apply(known, desireDocument(known, version, digest, work.moment()), null)
}
