/** What a deployment is found by: the terms and the text of the search index, and the order of names in a rollout. */
import type { Deployment } from '../../../domain/deployment.ts'
import { sameError } from '../../../domain/transition/component-changes.ts'

/**
 * Whether a change leaves all of it as it was. Most reports change only states. A deployment that another than its device reports or may report is never
 * alike: its reporter can change without a revision.
 */
export function isFoundAlike(before: Deployment, after: Deployment, device: string | null): boolean {
  return (
    after.claimed &&
    after.reporter === device &&
    before.reporter === after.reporter &&
    before.targetKey === after.targetKey &&
    before.rolloutKey === after.rolloutKey &&
    before.application === after.application &&
    before.applicationVersion === after.applicationVersion &&
    before.forgottenAt === null &&
    after.forgottenAt === null &&
    sameError(before.error, after.error) &&
    before.components.length === after.components.length &&
    before.components.every((component, index) => {
      const other = after.components[index]
      return other !== undefined && component.name === other.name && sameError(component.error, other.error)
    })
  )
}
