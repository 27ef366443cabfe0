/** Declaring what should run, and forgetting what should no longer be spoken of. */
import type { Deployment, Digits, Millis, Revision } from '../../domain/deployment.ts'
import { type Digest, largestManifest, type ManifestEntry, manifestOwner } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import { declaredRollout, implicitRollout } from '../../domain/rollout.ts'
import { applyDeclaration, desireDocument, forgetDeployment } from '../../domain/transition.ts'
import type { Command } from '../command.ts'
import type { Cause, DesiredDocument, DigestBundle } from '../desired.ts'
import { ensureChild, parentName } from '../devices.ts'
import type { World } from '../world.ts'

export interface DeploymentDeclaration {
  readonly deviceId: string
  readonly deploymentId: string
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly components: readonly string[] | null
  /** What its device should fetch and apply; absent: says nothing. */
  readonly document?: DesiredDocument
}

export interface Declared {
  readonly revision: Revision
  readonly rolloutKey: number | null
  readonly deploymentKeys: readonly number[]
}

/** For the manifests of devices that should run something else than before. */
export interface Desire {
  readonly cause: Cause
  readonly bundle: DigestBundle
}

/** `desire`: of those with a document. */
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
    decide(world) {
      refuseTooLarge(world, documented)
      refuseListedElsewhere(world, documented)
      const rolloutKey = named ? world.ensureRollout(named).key : null
      const declared = deployments.map((declaration) => declare(world, declaration, rolloutKey))
      if (desire) desireDocuments(world, declared, desire)
      return { revision: world.revision(), rolloutKey, deploymentKeys: declared.map(({ key }) => key) }
    },
  }
}

/** All that a device should run is one archive, too, and is loaded whenever it changes. */
function refuseTooLarge(world: World, documented: readonly DeploymentDeclaration[]): void {
  for (const [owner, declared] of Map.groupBy(documented, ({ deviceId }) => manifestOwner(deviceId))) {
    const key = world.device(owner)?.key ?? null
    let size = key === null ? 0 : world.desired.size(key)
    for (const { deploymentId, document } of declared) {
      const former = listedIn(world, key, deploymentId)
      size += (document?.size ?? 0) - (former?.size ?? 0)
    }
    if (size > largestManifest)
      throw new DomainError(
        'CONFLICT',
        `what ${owner} should run would be ${size} bytes of documents, and may be ${largestManifest}: remove something first`,
      )
  }
}

/** It was moved to a device with a manifest of its own, and the one that lists it would go on listing it. */
function refuseListedElsewhere(world: World, documented: readonly DeploymentDeclaration[]): void {
  for (const declaration of documented) {
    const { deploymentId, deviceId } = declaration
    const ownerKey = world.device(manifestOwner(deviceId))?.key ?? null
    const known = findDeclared(world, declaration, world.device(deviceId)?.key ?? null, ownerKey)
    if (!known || known.documentDigest === null || listedIn(world, ownerKey, deploymentId)?.deploymentKey === known.key)
      continue
    throw new DomainError(
      'CONFLICT',
      `${deploymentId} is in the manifest of the device that it was declared for before it ran on ${deviceId}: remove it first`,
    )
  }
}

function listedIn(world: World, ownerKey: number | null, deploymentId: string): ManifestEntry | null {
  return ownerKey === null ? null : world.desired.entry(ownerKey, deploymentId)
}

interface OneDeclared {
  readonly declaration: DeploymentDeclaration
  /** The deployment's. */
  readonly key: number
  /** The device whose manifest it would be in. */
  readonly ownerKey: number
}

function declare(world: World, declaration: DeploymentDeclaration, rolloutKey: number | null): OneDeclared {
  const { deploymentId, deviceId } = declaration
  const parent = parentName(deviceId)
  const target = parent ? ensureChild(world, deviceId, parent) : world.ensureDevice(deviceId)
  const ownerKey = world.ensureDevice(manifestOwner(deviceId)).key
  const known = findDeclared(world, declaration, target.key, ownerKey)
  const place = {
    key: known?.key ?? world.newKey(),
    targetKey: target.key,
    rolloutKey: known?.rolloutKey ?? rolloutKey ?? world.ensureRollout(implicitRollout(deploymentId)).key,
  }
  const outcome = applyDeclaration(known, { ...declaration, reporter: deviceId, rolloutKey }, place, world.moment())
  world.commit(known, outcome, null)
  return { declaration, key: place.key, ownerKey }
}

/**
 * The device's own, or whoever's runs on it; with a document also the one that its gateway's manifest lists, its gateway reports, or
 * that was withdrawn before anybody reported it, on whichever child: it should move. What was forgotten comes back only when nothing else is there.
 */
function findDeclared(
  world: World,
  { deploymentId, deviceId, document }: DeploymentDeclaration,
  targetKey: number | null,
  ownerKey: number | null,
): Deployment | null {
  const listed = document ? listedIn(world, ownerKey, deploymentId) : null
  const candidates = [
    listed && world.deploymentByKey(listed.deploymentKey),
    world.deployment(deploymentId, deviceId),
    ...(targetKey === null ? [] : world.deploymentsOn(deploymentId, targetKey)),
    ...(document
      ? [
          world.deployment(deploymentId, manifestOwner(deviceId)),
          ...world.freeOf(manifestOwner(deviceId), deploymentId),
        ]
      : []),
  ].filter((deployment) => deployment !== null)
  return candidates.find((deployment) => deployment.forgottenAt === null) ?? candidates[0] ?? null
}

/** A version more for each device that should run something else: one, however many documents it is. */
function desireDocuments(world: World, declared: readonly OneDeclared[], { cause, bundle }: Desire): void {
  const news = declared.flatMap(({ declaration, key, ownerKey }) => {
    const { deploymentId, deviceId, document } = declaration
    const listed = world.desired.entry(ownerKey, deploymentId)
    const isNews = document && !(listed?.digest === document.digest && listed.deploymentKey === key)
    return isNews ? [{ ownerKey, entry: { deploymentId, deviceId, deploymentKey: key }, document }] : []
  })
  for (const [ownerKey, put] of Map.groupBy(news, ({ ownerKey }) => ownerKey)) {
    const version = String(world.desired.change(ownerKey, { put, drop: [] }, cause, bundle))
    for (const { entry, document } of put) setDesired(world, entry.deploymentKey, version, document.digest)
  }
}

function setDesired(world: World, key: number, version: Digits, digest: Digest | null): void {
  const known = world.deploymentByKey(key)
  if (known) world.commit(known, desireDocument(known, version, digest, world.moment()), null)
}

/** They should not run any more: their documents leave the manifests of their devices. They stay in all lists until they are forgotten. */
export function removeDeployments(
  keys: readonly number[],
  { cause, bundle }: Desire,
): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys, manifestsOf: keys },
    decide(world) {
      const known = keys.map((key, index) => {
        const deployment = world.deploymentByKey(key)
        if (!deployment) throw refusal('NOT_FOUND', 'there is no such deployment', index, 'names no deployment')
        if (deployment.targetManifestVersion === null)
          throw refusal(
            'INVALID_REQUEST',
            'only what was declared with a document can be removed: forget what is not there any more',
            index,
            'was not declared with a document',
          )
        return deployment
      })
      const listed = known.flatMap(({ key }) => world.desired.entryOf(key) ?? [])
      for (const [ownerKey, entries] of Map.groupBy(listed, ({ targetKey }) => targetKey)) {
        const drop = entries.map(({ deploymentId }) => deploymentId)
        const version = String(world.desired.change(ownerKey, { put: [], drop }, cause, bundle))
        for (const { deploymentKey } of entries) setDesired(world, deploymentKey, version, null)
      }
      return { revision: world.revision() }
    },
  }
}

export function forgetDeployments(keys: readonly number[]): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys },
    decide(world) {
      keys.forEach((key, index) => {
        const known = world.deploymentByKey(key)
        if (!known) throw refusal('NOT_FOUND', 'there is no such deployment', index, 'names no deployment')
        if (known.instanceKey !== null)
          throw refusal(
            'INVALID_REQUEST',
            'what an orchestrator runs cannot be forgotten: terminate its rollout',
            index,
            'is run by an orchestrator',
          )
        if (known.documentDigest !== null)
          throw refusal(
            'INVALID_REQUEST',
            'what a device should run cannot be forgotten: remove it first',
            index,
            'should run: its device is told so until removeDeployments withdraws it',
          )
      })
      for (const key of keys) forget(world, key)
      return { revision: world.revision() }
    },
  }
}

/** Retention's form: only what is still REMOVED, and has been since before `before`. */
export function forgetRemoved(keys: readonly number[], before: Millis): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys },
    decide(world) {
      for (const key of keys) {
        const known = world.deploymentByKey(key)
        if (known?.state === 'REMOVED' && known.documentDigest === null && known.changedAt < before) forget(world, key)
      }
      return { revision: world.revision() }
    },
  }
}

function forget(world: World, key: number): void {
  const known = world.deploymentByKey(key)
  if (known) world.commit(known, forgetDeployment(known, world.moment()), null)
}

function refusal(code: 'NOT_FOUND' | 'INVALID_REQUEST', message: string, index: number, problem: string): DomainError {
  return new DomainError(code, message, { problems: [{ field: `ids[${index}]`, message: problem }] })
}
