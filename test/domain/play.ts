/** Reports about one deployment, one after another. */
import { expect } from 'vitest'
import type { Deployment } from '../../src/domain/deployment.ts'
import type { StatusReport } from '../../src/domain/report.ts'
import { applyReport } from '../../src/domain/transition/transition.ts'
import type { Transition } from '../../src/domain/transition/transition-result.ts'
import type { StatusError } from '../../src/domain/values.ts'
import { moment, place } from './moments.ts'

export const component = (
  name: string,
  state: StatusReport['state'] = 'PENDING',
  error: StatusError | null = null,
) => ({
  name,
  state,
  error,
})

export function play(...reports: StatusReport[]): Transition[] {
  let known: Deployment | null = null
  let revision = 1
  return reports.map((next) => {
    const outcome = applyReport(known, next, place, moment(revision))
    known = outcome.deployment
    revision += outcome.changes.length
    return outcome
  })
}

export const last = (transitions: Transition[]): Transition => transitions.at(-1) ?? expect.unreachable()
