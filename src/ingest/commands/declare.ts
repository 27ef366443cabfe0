/** Declares, removes and forgets deployments. */

import { applyDeclaration } from '../../domain/declaration.ts'
import type { Deployment } from '../../domain/deployment.ts'
import { type Digest, largestManifest, type ManifestEntry, manifestOwner } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import { declaredRollout, implicitRollout } from '../../domain/rollout.ts'
import { desireDocument, forgetDeployment } from '../../domain/transition.ts'
import type { Digits, Millis, Revision } from '../../domain/values.ts'
import { eachPaced, type Paced } from '../../limits/pace.ts'
import type { Command } from '../command.ts'
import type { Cause, DesiredDocument, DigestBundle } from '../desired.ts'
import { ensureChild, newParent, parentName } from '../devices.ts'
import type { UnitOfWork } from '../unit-of-work.ts'

export interface DeploymentDeclaration {
  readonly deviceId: string
  readonly deploymentId: string
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly components: readonly string[] | null
  /** The document that the device should fetch and apply. Absent: unchanged. */
  readonly document?: DesiredDocument
}

export interface Declared {
  readonly revision: Revision
  readonly rolloutKey: number | null
  readonly deploymentKeys: readonly number[]
}

/** The author, the reason and the bundle of a change of manifests. */
export interface Desire {
  readonly cause: Cause
  readonly bundle: DigestBundle
}

/** `desire`: for declarations with a document. */
export function declareDeployments(
  rollout: { readonly name: string; readonly project: string | null } | null,
  deployments: readonly DeploymentDeclaration[],
  desire: Desire | null = null,
): Command<Declared> {
  const named = rollout ? declaredRollout(rollout.name, rollout.project) : null
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
      ...(documented.length > 0 && { manifests: documented.map(({ deviceId }) => manifestOwner(deviceId)) }),
    },
    *decide(work) {
      yield* refuseRetired(work, deployments)
      yield* refuseTooLarge(work, documented)
      yield* refuseListedElsewhere(work, documented)
      const rolloutKey = named ? work.ensureRollout(named).key : null
      const declared = yield* eachPaced(deployments, (declaration) => declare(work, declaration, rolloutKey))
      if (desire) yield* desireDocuments(work, declared, desire)
      return { revision: work.revision(), rolloutKey, deploymentKeys: declared.map(({ key }) => key) }
    },
  }
}

/** Refuses retired devices: the deployment would count as not yet reported for ever. */
function* refuseRetired(work: UnitOfWork, deployments: readonly DeploymentDeclaration[]): Paced<void> {
  yield* eachPaced(deployments, ({ deviceId, document }, index) => {
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
      ? [work.deployment(deploymentId, manifestOwner(deviceId)), ...work.freeOf(manifestOwner(deviceId), deploymentId)]
      : []),
  ].filter((deployment) => deployment !== null)
  return candidates.find((deployment) => deployment.forgottenAt === null) ?? candidates[0] ?? null
}

/** Creates one new version for each device whose desired state changes, for any number of documents. */
function* desireDocuments(work: UnitOfWork, declared: readonly OneDeclared[], { cause, bundle }: Desire): Paced<void> {
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

function setDesired(work: UnitOfWork, key: number, version: Digits, digest: Digest | null): void {
  const known = work.deploymentByKey(key)
  if (known) work.apply(known, desireDocument(known, version, digest, work.moment()), null)
}

/** Removes the documents from the manifests of their devices. The deployments stay in all lists until they are forgotten. */
export function removeDeployments(keys: readonly number[], desire: Desire): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys, manifestsOf: keys },
    *decide(work) {
      const known = yield* eachPaced(keys, (key, index) => {
        const deployment = work.deploymentByKey(key)
        if (!deployment) throw refusal('NOT_FOUND', 'there is no such deployment', index, 'names no deployment')
        if (deployment.targetManifestVersion === null)
          throw refusal(
            'INVALID_REQUEST',
            'only a deployment with a document can be removed: use forgetDeployments for others',
            index,
            'was not declared with a document',
          )
        return deployment
      })
      yield* withdraw(work, known, desire)
      return { revision: work.revision() }
    },
  }
}

/** Removes the documents from the manifests that list them. Creates one new version for each of these devices. */
export function* withdraw(
  work: UnitOfWork,
  deployments: readonly Deployment[],
  { cause, bundle }: Desire,
): Paced<void> {
  const listed = deployments.flatMap(({ key }) => work.desired.entryOf(key) ?? [])
  for (const [ownerKey, entries] of Map.groupBy(listed, ({ targetKey }) => targetKey)) {
    const drop = entries.map(({ deploymentId }) => deploymentId)
    const version = String(work.desired.change(ownerKey, { put: [], drop }, cause, bundle))
    yield* eachPaced(entries, ({ deploymentKey }) => setDesired(work, deploymentKey, version, null))
  }
}

export function forgetDeployments(keys: readonly number[]): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys },
    *decide(work) {
      yield* eachPaced(keys, (key, index) => {
        const known = work.deploymentByKey(key)
        if (!known) throw refusal('NOT_FOUND', 'there is no such deployment', index, 'names no deployment')
        if (known.instanceKey !== null)
          throw refusal(
            'INVALID_REQUEST',
            'a deployment of an orchestrator cannot be forgotten: terminate its rollout',
            index,
            'is run by an orchestrator',
          )
        if (known.documentDigest !== null)
          throw refusal(
            'INVALID_REQUEST',
            'a desired deployment cannot be forgotten: remove it first',
            index,
            'is desired: the manifest of its device lists it until removeDeployments withdraws it',
          )
      })
      yield* eachPaced(keys, (key) => forget(work, key))
      return { revision: work.revision() }
    },
  }
}

/** The form for retention: forgets only deployments that have been REMOVED since before `before`. */
export function forgetRemoved(keys: readonly number[], before: Millis): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys },
    *decide(work) {
      for (const key of keys) {
        yield
        const known = work.deploymentByKey(key)
        if (known?.state === 'REMOVED' && known.documentDigest === null && known.changedAt < before) forget(work, key)
      }
      return { revision: work.revision() }
    },
  }
}

export function forget(work: UnitOfWork, key: number): void {
  const known = work.deploymentByKey(key)
  if (known) work.apply(known, forgetDeployment(known, work.moment()), null)
}

function refusal(code: 'NOT_FOUND' | 'INVALID_REQUEST', message: string, index: number, problem: string): DomainError {
  return new DomainError(code, message, { problems: [{ field: `ids[${index}]`, message: problem }] })
}
