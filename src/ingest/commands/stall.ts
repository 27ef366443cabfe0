/** Records standstills. store/write/standstill.ts finds them. The command records one only if the deployment has not changed since. */
import { stallDeployment } from '../../domain/transition/transition.ts'
import type { Revision } from '../../domain/values.ts'
import type { Command } from '../command.ts'
import { eachPart } from '../command-parts.ts'

/** A deployment, and the revision at which its standstill was found. */
interface Standstill {
  readonly key: number
  readonly revision: Revision
}

export function markStalled(found: readonly Standstill[]): Command<{ readonly marked: number }> {
  return {
    needs: { deploymentKeys: found.map(({ key }) => key) },
    decide(work) {
      let marked = 0
      for (const { key, revision } of found) {
        const known = work.deploymentByKey(key)
        if (!known || known.revision !== revision) continue
        const outcome = stallDeployment(known, work.moment())
        if (outcome.changes.length > 0) marked += 1
        work.apply(known, outcome, null)
      }
      return { marked }
    },
    async ifTooLarge(write) {
      const parts = await eachPart(found, (part) => write(markStalled(part)))
      return { marked: parts.reduce((sum, { marked }) => sum + marked, 0) }
    },
  }
}
