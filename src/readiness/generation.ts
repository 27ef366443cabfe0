import { type Assessment, pending } from './assessment.ts'
import { given, type KubernetesObject } from './kubernetes-object.ts'

/** What a status says of a spec it has not seen yet is worth nothing: older is PENDING, whatever the counts say. */
export const staleGeneration = (object: KubernetesObject, observed: number | undefined): Assessment | null => {
  const generation = given(object.metadata.generation)
  if (generation === undefined || observed === undefined || observed >= generation) return null
  return pending('GenerationNotObserved', `generation is ${generation}, the latest observed one is ${observed}`)
}

export const observedGeneration = (object: KubernetesObject): number | undefined =>
  given(object.status.observedGeneration)

/**
 * The apps controllers always write observedGeneration, so for their kinds a missing one is 0: nobody has looked yet. Other kinds may not know
 * the field. A bare status block has no generation to compare with and passes.
 */
export const unobserved = (object: KubernetesObject): Assessment | null =>
  staleGeneration(object, observedGeneration(object) ?? 0)
