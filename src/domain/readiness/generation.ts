import type { Assessment } from '../orchestration/resource.ts'
import { pending } from './assessment.ts'
import { type KubernetesObject, optionalNumber } from './kubernetes-object.ts'

/** A status that is older than the spec says nothing about it, so the object is PENDING for any counts. */
export const outdatedGeneration = (object: KubernetesObject, observed: number | undefined): Assessment | null => {
  const generation = optionalNumber(object.metadata.generation)
  if (generation === undefined || observed === undefined || observed >= generation) return null
  return pending('GenerationNotObserved', `generation is ${generation}, the latest observed generation is ${observed}`)
}

export const observedGeneration = (object: KubernetesObject): number | undefined =>
  optionalNumber(object.status.observedGeneration)

/**
 * The apps controllers always write observedGeneration, so for their kinds an absent one is 0: the controller has not seen the object.
 * Other kinds may not have the field. A bare status block has no generation to compare with, so this check passes.
 */
export const outdatedStatus = (object: KubernetesObject): Assessment | null =>
  outdatedGeneration(object, observedGeneration(object) ?? 0)
