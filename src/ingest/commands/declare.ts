/** Declares deployments. */
import type { Deployment } from '../../domain/deployment.ts'
import { manifestOwner } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import { declaredRollout, implicitRollout } from '../../domain/rollout.ts'
import type { Label } from '../../domain/target.ts'
import { applyDeclaration } from '../../domain/transition/declaration.ts'
import type { Revision } from '../../domain/values.ts'
import { eachPaced, type Paced } from '../../platform/limits/pace.ts'
import type { Needs } from '../../store/write/needs.ts'
import type { Command } from '../command.ts'
import { eachPart, wholeOrInParts } from '../command-parts.ts'
import { ensureChild, newParent, parentName } from '../devices.ts'
import { type ItemList, indexesOf, itemsAt } from '../item-list.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import {
  changedIn,
  changeManifests,
  type DeploymentDeclaration,
  desireInParts,
  type Listed,
  listedIn,
  type ManifestUpdate,
  type OneDeclared,
  type Part,
  recordAuthor,
  refuseTooLarge,
  setDesired,
} from './declared-documents.ts'
import { labelRollout } from './rollout-labels.ts'

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

/** `update`: null only for declarations without documents, whose author is then not recorded. */
export function declareDeployments(
  rollout: DeclaredRollout | null,
  deployments: ItemList<DeploymentDeclaration>,
  update: ManifestUpdate | null = null,
): Command<Declared> {
  const indexes = indexesOf(deployments)
  const whole = (): Command<Declared> => declareAll(rollout, itemsAt(deployments, indexes), update)
  return wholeOrInParts(deployments, whole, async (write) => {
    const parts = await eachPart(indexes, (part) => write(declarePart(rollout, itemsAt(deployments, part))))
    const declared = parts.flatMap((part) => part.declared)
    const { rolloutKey = null } = parts[0] ?? {}
    const desired = update ? await desireInParts(write, deployments, declared, update) : []
    const changed = [...parts, ...desired].flatMap((part) => part.changed)
    if (update) await write({ needs: {}, decide: (work) => recordAuthor(work, changed, update.cause) })
    const { revision = 0 } = [...parts, ...desired].at(-1) ?? {}
    return { revision, rolloutKey, deploymentKeys: declared.map(({ key }) => key) }
  })
}

function declareAll(
  rollout: DeclaredRollout | null,
  deployments: readonly Listed[],
  update: ManifestUpdate | null,
): Command<Declared> {
  return {
    needs: { ...needsOf(rollout, deployments), withoutDocuments: false },
    *decide(work) {
      const before = work.revision()
      yield* refuseRetired(work, deployments)
      yield* refuseTooLarge(work, deployments)
      yield* refuseListedElsewhere(work, deployments)
      const { rolloutKey, declared } = yield* declareEach(work, rollout, deployments)
      if (update) {
        const desired = yield* changeManifests(work, deployments, declared, update)
        yield* eachPaced(desired, (one) => setDesired(work, one))
        const keys = declared.map(({ key }) => key)
        recordAuthor(work, changedIn(work, keys, before), update.cause)
      }
      return { revision: work.revision(), rolloutKey, deploymentKeys: declared.map(({ key }) => key) }
    },
  }
}

/** Without the documents: the manifests change after all parts, so that each gets one new version. */
function declarePart(
  rollout: DeclaredRollout | null,
  deployments: readonly Listed[],
): Command<Part & { readonly rolloutKey: number | null; readonly declared: readonly OneDeclared[] }> {
  return {
    needs: { ...needsOf(rollout, deployments), withoutDocuments: true },
    *decide(work) {
      const before = work.revision()
      yield* refuseRetired(work, deployments)
      yield* refuseListedElsewhere(work, deployments)
      const made = yield* declareEach(work, rollout, deployments)
      const keys = made.declared.map(({ key }) => key)
      return { ...made, revision: work.revision(), changed: changedIn(work, keys, before) }
    },
  }
}

function needsOf(rollout: DeclaredRollout | null, deployments: readonly Listed[]): Needs {
  const documented = deployments.filter(({ document }) => document)
  return {
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
    rollouts: rollout ? [declaredRollout(rollout.name, rollout.project)] : [],
    rolloutLabels: (rollout?.labels ?? null) !== null,
    ...(documented.length > 0 && { manifests: documented.map(({ deviceId }) => manifestOwner(deviceId)) }),
  }
}

function* declareEach(
  work: UnitOfWork,
  rollout: DeclaredRollout | null,
  deployments: readonly Listed[],
): Paced<{ readonly rolloutKey: number | null; readonly declared: readonly OneDeclared[] }> {
  const rolloutKey = rollout ? work.ensureRollout(declaredRollout(rollout.name, rollout.project)).key : null
  if (rolloutKey !== null && rollout?.labels) labelRollout(work, rolloutKey, rollout.labels)
  const declared = yield* eachPaced(deployments, (declaration) => declare(work, declaration, rolloutKey))
  return { rolloutKey, declared }
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

/** Refuses a deployment that moved to a device with another manifest: the first manifest would still list it. */
function* refuseListedElsewhere(work: UnitOfWork, deployments: readonly DeploymentDeclaration[]): Paced<void> {
  for (const declaration of deployments) {
    if (!declaration.document) continue
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

function declare(work: UnitOfWork, declaration: Listed, rolloutKey: number | null): OneDeclared {
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
  return { index: declaration.index, key: place.key, ownerKey }
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
