/** Removes deployments from the manifests of their devices, and forgets deployments. */

import type { Deployment } from '../../domain/deployment.ts'
import { DomainError } from '../../domain/errors.ts'
import { ownSite } from '../../domain/target.ts'
import { forgetDeployment } from '../../domain/transition/transition.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { eachPaced } from '../../platform/limits/pace.ts'
import type { Command, WritePart } from '../command.ts'
import { eachPart, inParts, wholeOrInParts } from '../command-parts.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { followManifests, type ManifestUpdate } from './declared-documents.ts'

/** Removes the documents from the manifests of their devices. The deployments stay in all lists until they are forgotten. */
export function removeDeployments(
  keys: readonly number[],
  update: ManifestUpdate,
): Command<{ readonly revision: Revision }> {
  return inParts(async (write) => {
    await eachPart(keys, (part, first) => write(findDesired(part, first)))
    return { revision: await withdraw(write, keys, update) }
  })
}

/** Refuses what no manifest ever listed. `first`: the index of the first key in the command. */
function findDesired(keys: readonly number[], first: number): Command<unknown> {
  return {
    needs: { deploymentKeys: keys },
    decide: (work) =>
      eachPaced(keys, (key, n) => {
        const deployment = work.deploymentByKey(key)
        if (!deployment) throw refusal('NOT_FOUND', 'there is no such deployment', first + n, 'names no deployment')
        refuseOfSite(deployment, first + n)
        if (deployment.targetManifestVersion === null)
          throw refusal(
            'INVALID_REQUEST',
            'only a deployment with a document can be removed: use forgetDeployments for others',
            first + n,
            'was not declared with a document',
          )
        return null
      }),
  }
}

/** Removes the documents from the manifests that list them, and creates one new version for each of these devices. Then the deployments follow. */
export async function withdraw(
  write: WritePart,
  keys: readonly number[],
  { cause, bundle }: ManifestUpdate,
): Promise<Revision> {
  const [listed, before] = await write({
    needs: { listed: keys },
    decide: (work) => [keys.flatMap((key) => work.desired.entryOf(key) ?? []), work.revision()] as const,
  })
  const owners = [...Map.groupBy(listed, ({ targetKey }) => targetKey)]
  const withdrawn = await eachPart(owners, (part) =>
    write({
      needs: { manifestsOf: part.flatMap(([, [entry]]) => entry?.deploymentKey ?? []) },
      decide: (work) =>
        eachPaced(part, ([owner, entries]) => {
          const drop = entries.map(({ deploymentId }) => deploymentId)
          const version = String(work.desired.change(owner, { put: [], drop }, cause, bundle))
          return entries.map(({ deploymentKey }) => ({ key: deploymentKey, version, digest: null }))
        }),
    }),
  )
  const followed = await followManifests(write, withdrawn.flat(2))
  return followed.at(-1)?.revision ?? before
}

export function forgetDeployments(keys: readonly number[]): Command<{ readonly revision: Revision }> {
  const whole = (): Command<{ readonly revision: Revision }> => forgetPart(keys, 0)
  return wholeOrInParts(keys, whole, async (write) => {
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
        refuseOfSite(known, index)
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

function refuseOfSite({ siteKey }: Deployment, index: number): void {
  if (siteKey === ownSite) return
  const message = 'the server of a site decides what becomes of its deployments: ask there'
  throw refusal('INVALID_REQUEST', message, index, 'is at a site, whose server decides about it')
}

/** The form for retention: forgets only deployments that have been REMOVED since before `before`. */
export function forgetRemoved(keys: readonly number[], before: Millis): Command<unknown> {
  return {
    needs: { deploymentKeys: keys },
    decide: (work) =>
      eachPaced(keys, (key) => {
        const known = work.deploymentByKey(key)
        if (known?.state === 'REMOVED' && known.documentDigest === null && known.changedAt < before) forget(work, key)
      }),
    ifTooLarge: (write) => eachPart(keys, (part) => write(forgetRemoved(part, before))),
  }
}

export function forget(work: UnitOfWork, key: number): void {
  const known = work.deploymentByKey(key)
  if (known) work.apply(known, forgetDeployment(known, work.moment()), null)
}

function refusal(code: 'NOT_FOUND' | 'INVALID_REQUEST', message: string, index: number, problem: string): DomainError {
  return new DomainError(code, message, { problems: [{ field: `ids[${index}]`, message: problem }] })
}
