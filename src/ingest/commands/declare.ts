/** Declares deployments. */
import type { Deployment } from '../../domain/deployment.ts'
import { type Digest, largestManifest, type ManifestEntry, manifestOwner } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import { declaredRollout, implicitRollout } from '../../domain/rollout.ts'
import type { Label } from '../../domain/target.ts'
import { applyDeclaration } from '../../domain/transition/declaration.ts'
import { desireDocument } from '../../domain/transition/transition.ts'
import type { Digits, Revision } from '../../domain/values.ts'
import { eachPaced, type Paced } from '../../platform/limits/pace.ts'
import type { Command } from '../command.ts'
import { inParts, partSize, partsOf } from '../command-parts.ts'
import { ensureChild, newParent, parentName } from '../devices.ts'
import { type ItemList, indexesOf, itemsAt } from '../item-list.ts'
import type { Cause, DesiredDocument, DigestBundle } from '../unit-of-work/desired-state.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { labelRollout } from './rollout-labels.ts'

export interface DeploymentDeclaration {
  readonly deviceId: string
  readonly deploymentId: string
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly components: readonly string[] | null
  /** The document that the device should fetch and apply. Absent: unchanged. */
  readonly document?: DesiredDocument
}

/** The rollout that deployments join. Labels null: they stay as they are. */
interface DeclaredRollout {
  readonly name: string
  readonly project: string | null
  readonly labels?: readonly Label[] | null
}

interface Declared {
  readonly revision: Revision
  readonly rolloutKey: number | null
  readonly deploymentKeys: readonly number[]
}

/** The author, the reason and the bundle of a change of manifests. */
export interface ManifestUpdate {
  readonly cause: Cause
  readonly bundle: DigestBundle
}

/** `update`: null only for declarations without documents, whose author is then not recorded. */
export function declareDeployments(
  rollout: DeclaredRollout | null,
  deployments: ItemList<DeploymentDeclaration>,
  update: ManifestUpdate | null = null,
): Command<Declared> {
  if (deployments.length <= partSize) return declarePart(rollout, itemsAt(deployments, indexesOf(deployments)), update)
  return inParts(async (write) => {
    const deploymentKeys: number[] = []
    let [revision, rolloutKey]: [Revision, number | null] = [0, null]
    for (const part of partsOf(groupsOf(deployments))) {
      const declared = await write(declarePart(rollout, itemsAt(deployments, part), update))
      part.forEach((index, n) => {
        deploymentKeys[index] = declared.deploymentKeys[n] ?? 0
      })
      revision = declared.revision
      rolloutKey = declared.rolloutKey
    }
    return { revision, rolloutKey, deploymentKeys }
  })
}

/** With the index in the command. */
type Listed = DeploymentDeclaration & { readonly index: number }

/** In order. With documents, all declarations for one manifest are in one part: a command creates one version of a manifest. */
function groupsOf(deployments: ItemList<DeploymentDeclaration>): Iterable<readonly number[]> {
  const indexes = indexesOf(deployments)
  if (!indexes.some((index) => deployments.at(index)?.document)) return indexes.map((index) => [index])
  return Map.groupBy(indexes, (index) => manifestOwner(deployments.at(index)?.deviceId ?? '')).values()
}

function declarePart(
  rollout: DeclaredRollout | null,
  deployments: readonly Listed[],
  update: ManifestUpdate | null,
): Command<Declared> {
  const named = rollout ? declaredRollout(rollout.name, rollout.project) : null
  const labels = rollout?.labels ?? null
  const documented = deployments.filter(({ document }) => document)
  return {
    needs: {
      deployments: [
        ...deployments.map(({ deploymentId, deviceId }) => ({
          deploymentId,
          reporter: deviceId,
          device: deviceId,
          anyReporter: true,
          otherwise: implicitRollout(deploymentId),
        })),
        ...documented.flatMap(({ deploymentId, deviceId: device }) =>
          manifestOwner(device) === device ? [] : [{ deploymentId, reporter: manifestOwner(device), device }],
        ),
      ],
      devices: deployments.flatMap(({ deviceId }) => [
        deviceId,
        parentName(deviceId) ?? deviceId,
        manifestOwner(deviceId),
      ]),
      rollouts: named ? [named] : [],
      rolloutLabels: labels !== null,
      ...(documented.length > 0 && { manifests: documented.map(({ deviceId }) => manifestOwner(deviceId)) }),
    },
    *decide(work) {
      const before = work.revision()
      yield* refuseRetired(work, deployments)
      yield* refuseTooLarge(work, documented)
      yield* refuseListedElsewhere(work, documented)
      const rolloutKey = named ? work.ensureRollout(named).key : null
      if (rolloutKey !== null && labels) labelRollout(work, rolloutKey, labels)
      const declared = yield* eachPaced(deployments, (declaration) => declare(work, declaration, rolloutKey))
      if (update) {
        yield* desireDocuments(work, declared, update)
        recordAuthor(work, declared, update.cause, before)
      }
      return { revision: work.revision(), rolloutKey, deploymentKeys: declared.map(({ key }) => key) }
    },
  }
}

/** Refuses retired devices: the deployment would count as not yet reported for ever. */
function* refuseRetired(work: UnitOfWork, deployments: readonly Listed[]): Paced<void> {
  yield* eachPaced(deployments, ({ deviceId, document, index }) => {
    const parent = parentName(deviceId)
    const involved = [
      work.device(deviceId),
      parent ? newParent(work, deviceId, parent) : null,
      // The owner of the manifest: a retired owner does not fetch it any more.
      document ? work.device(manifestOwner(deviceId)) : null,
    ]
    const retired = involved.find((device) => device && device.retiredAt !== null)
    if (!retired) return
    const message = `device ${retired.name} is retired: register it again (registerDevices), or name another`
    throw new DomainError('CONFLICT', message, { problems: [{ field: `deployments[${index}].deviceId`, message }] })
  })
}

/** Limits the size of a device's documents together: they form one archive, and each change loads all of them. */
function* refuseTooLarge(work: UnitOfWork, documented: readonly DeploymentDeclaration[]): Paced<void> {
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

/** Refuses a deployment that moved to a device with another manifest: the first manifest would still list it. */
function* refuseListedElsewhere(work: UnitOfWork, documented: readonly DeploymentDeclaration[]): Paced<void> {
  for (const declaration of documented) {
    yield
    const { deploymentId, deviceId } = declaration
    const ownerKey = work.device(manifestOwner(deviceId))?.key ?? null
    const known = findDeclared(work, declaration, work.device(deviceId)?.key ?? null, ownerKey)
    if (!known || known.documentDigest === null || listedIn(work, ownerKey, deploymentId)?.deploymentKey === known.key)
      continue
    throw new DomainError(
      'CONFLICT',
      `${deploymentId} is in the manifest of the device that it was declared for before it ran on ${deviceId}: remove it first`,
    )
  }
}

function listedIn(work: UnitOfWork, ownerKey: number | null, deploymentId: string): ManifestEntry | null {
  return ownerKey === null ? null : work.desired.entry(ownerKey, deploymentId)
}

interface OneDeclared {
  readonly declaration: DeploymentDeclaration
  /** The deployment's. */
  readonly key: number
  /** The device whose manifest lists the deployment. */
  readonly ownerKey: number
}

function declare(work: UnitOfWork, declaration: DeploymentDeclaration, rolloutKey: number | null): OneDeclared {
  const { deploymentId, deviceId } = declaration
  const parent = parentName(deviceId)
  const target = parent ? ensureChild(work, deviceId, parent) : work.ensureDevice(deviceId)
  const ownerKey = work.ensureDevice(manifestOwner(deviceId)).key
  const known = findDeclared(work, declaration, target.key, ownerKey)
  const place = {
    key: known?.key ?? work.newKey(),
    targetKey: target.key,
    rolloutKey: known?.rolloutKey ?? rolloutKey ?? work.ensureRollout(implicitRollout(deploymentId)).key,
  }
  const outcome = applyDeclaration(known, { ...declaration, reporter: deviceId, rolloutKey }, place, work.moment())
  work.apply(known, outcome, null)
  return { declaration, key: place.key, ownerKey }
}

/**
 * Finds the deployment that the device reports, or one that runs on it. With a document, also one that the manifest of its gateway lists,
 * that the gateway reports, or that was withdrawn before it was reported, on any child: the deployment moves to the device. A forgotten
 * deployment is used only if there is no other.
 */
function findDeclared(
  work: UnitOfWork,
  { deploymentId, deviceId, document }: DeploymentDeclaration,
  targetKey: number | null,
  ownerKey: number | null,
): Deployment | null {
  const listed = document ? listedIn(work, ownerKey, deploymentId) : null
  const candidates = [
    listed && work.deploymentByKey(listed.deploymentKey),
    work.deployment(deploymentId, deviceId),
    ...(targetKey === null ? [] : work.deploymentsOn(deploymentId, targetKey)),
    ...(document
      ? [
          work.deployment(deploymentId, manifestOwner(deviceId)),
          ...work.unclaimedOf(manifestOwner(deviceId), deploymentId),
        ]
      : []),
  ].filter((deployment) => deployment !== null)
  return candidates.find((deployment) => deployment.forgottenAt === null) ?? candidates[0] ?? null
}

/** Creates one new version for each device whose desired state changes, for any number of documents. */
function* desireDocuments(
  work: UnitOfWork,
  declared: readonly OneDeclared[],
  { cause, bundle }: ManifestUpdate,
): Paced<void> {
  const news = declared.flatMap(({ declaration, key, ownerKey }) => {
    const { deploymentId, deviceId, document } = declaration
    const listed = work.desired.entry(ownerKey, deploymentId)
    const isNews = document && !(listed?.digest === document.digest && listed.deploymentKey === key)
    return isNews ? [{ ownerKey, entry: { deploymentId, deviceId, deploymentKey: key }, document }] : []
  })
  for (const [ownerKey, put] of Map.groupBy(news, ({ ownerKey }) => ownerKey)) {
    const version = String(work.desired.change(ownerKey, { put, drop: [] }, cause, bundle))
    yield* eachPaced(put, ({ entry, document }) => setDesired(work, entry.deploymentKey, version, document.digest))
  }
}

/**
 * Once for each rollout whose deployments the command has changed. Not for a rollout that a deployment leaves: the rollout that it joins may be in
 * another project, and readers of the former project must not see who declared something there, or why.
 */
function recordAuthor(work: UnitOfWork, declared: readonly OneDeclared[], cause: Cause, before: Revision): void {
  const newest = new Map<number, Revision>()
  for (const { key } of declared) {
    const { rolloutKey, revision } = work.deploymentByKey(key) ?? { rolloutKey: 0, revision: 0 }
    if (revision > Math.max(newest.get(rolloutKey) ?? 0, before)) newest.set(rolloutKey, revision)
  }
  for (const [rolloutKey, revision] of newest) work.desired.declared({ rolloutKey, revision, ...cause })
}

export function setDesired(work: UnitOfWork, key: number, version: Digits, digest: Digest | null): void {
  const known = work.deploymentByKey(key)
  if (known) work.apply(known, desireDocument(known, version, digest, work.moment()), null)
}
