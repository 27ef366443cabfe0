/** Removes deployments from the manifests of their devices, and forgets deployments. */
import type { Deployment } from '../../domain/deployment.ts'
import { manifestOwner } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import { forgetDeployment } from '../../domain/transition/transition.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { eachPaced, type Paced } from '../../platform/limits/pace.ts'
import type { Command } from '../command.ts'
import { eachPart, inParts, partSize, partsOf } from '../command-parts.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { type ManifestUpdate, setDesired } from './declare.ts'

/** Removes the documents from the manifests of their devices. The deployments stay in all lists until they are forgotten. */
export function removeDeployments(
  keys: readonly number[],
  update: ManifestUpdate,
): Command<{ readonly revision: Revision }> {
  if (keys.length <= partSize) return removePart(keys, update)
  return inParts(async (write) => {
    const owned = (await eachPart(keys, (part, first) => write(findOwners(part, first)))).flat()
    let removed = { revision: 0 }
    // All documents of one manifest are in one part: a command creates one version of a manifest.
    for (const part of partsOf(Map.groupBy(owned, ({ owner }) => owner).values())) {
      const ownKeys = part.map(({ key }) => key)
      removed = await write(removePart(ownKeys, update))
    }
    return removed
  })
}

interface Owned {
  readonly key: number
  readonly owner: string
}

/** The device whose manifest lists each document. `first`: the index of the first key in the command. */
function findOwners(keys: readonly number[], first: number): Command<readonly Owned[]> {
  return {
    needs: { deploymentKeys: keys },
    *decide(work) {
      const known = yield* findDesired(work, keys, first)
      return known.map(({ key, targetKey }) => ({ key, owner: manifestOwner(work.targetByKey(targetKey).name) }))
    },
  }
}

function removePart(keys: readonly number[], update: ManifestUpdate): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys, manifestsOf: keys },
    *decide(work) {
      yield* withdraw(work, yield* findDesired(work, keys, 0), update)
      return { revision: work.revision() }
    },
  }
}

function findDesired(work: UnitOfWork, keys: readonly number[], first: number): Paced<readonly Deployment[]> {
  return eachPaced(keys, (key, n) => {
    const deployment = work.deploymentByKey(key)
    if (!deployment) throw refusal('NOT_FOUND', 'there is no such deployment', first + n, 'names no deployment')
    if (deployment.targetManifestVersion === null)
      throw refusal(
        'INVALID_REQUEST',
        'only a deployment with a document can be removed: use forgetDeployments for others',
        first + n,
        'was not declared with a document',
      )
    return deployment
  })
}

/** Removes the documents from the manifests that list them. Creates one new version for each of these devices. */
export function* withdraw(
  work: UnitOfWork,
  deployments: readonly Deployment[],
  { cause, bundle }: ManifestUpdate,
): Paced<void> {
  const listed = deployments.flatMap(({ key }) => work.desired.entryOf(key) ?? [])
  for (const [ownerKey, entries] of Map.groupBy(listed, ({ targetKey }) => targetKey)) {
    const drop = entries.map(({ deploymentId }) => deploymentId)
    const version = String(work.desired.change(ownerKey, { put: [], drop }, cause, bundle))
    yield* eachPaced(entries, ({ deploymentKey }) => setDesired(work, deploymentKey, version, null))
  }
}

export function forgetDeployments(keys: readonly number[]): Command<{ readonly revision: Revision }> {
  if (keys.length <= partSize) return forgetPart(keys, 0)
  return inParts(async (write) => {
    const forgotten = await eachPart(keys, (part, first) => write(forgetPart(part, first)))
    return forgotten.at(-1) ?? { revision: 0 }
  })
}

/** `first`: the index of the first key in the command. */
function forgetPart(keys: readonly number[], first: number): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys },
    *decide(work) {
      yield* eachPaced(keys, (key, n) => {
        const index = first + n
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
