/** The log of any sequence of commands folds to the state at each of its revisions. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Deployment, DeploymentImage } from '../../src/domain/deployment.ts'
import { imageAt } from '../../src/domain/fold.ts'
import { applyDeclaration } from '../../src/domain/transition/declaration.ts'
import { applyReport, forgetDeployment } from '../../src/domain/transition/transition.ts'
import type { Moment, Transition } from '../../src/domain/transition/transition-result.ts'
import { deploymentStates } from '../../src/domain/values.ts'
import { report } from '../support/clients/reports.ts'
import { moment, place } from './moments.ts'

describe('the log', () => {
  const error = fc.constantFrom(null, { code: 'a', message: '' }, { code: 'a', message: 'b' })
  const state = fc.constantFrom(...deploymentStates)
  const components = fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c'), state, error }), {
    selector: ({ name }) => name,
  })
  const digits = fc.option(fc.constantFrom('1', '2', '3'), { nil: null })
  const command = fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .record({
          state,
          error,
          components,
          adoptedManifestVersion: digits,
          seq: digits,
          target: fc.constantFrom(2, 3),
        })
        .map((r) => ({ type: 'report', ...r }) as const),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({
          application: fc.constantFrom(null, 'x', 'y'),
          rolloutKey: fc.constantFrom(null, 5, 6),
          components: fc.option(fc.uniqueArray(fc.constantFrom('a', 'b', 'd')), { nil: null }),
          target: fc.constantFrom(2, 3),
        })
        .map((d) => ({ type: 'declare', ...d }) as const),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'forget' } as const) },
  )

  it('folds to the present state, and at every one of its revisions to one in the place of the entry', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 12 }), (commands) => {
        let known: Deployment | null = null
        let folded: DeploymentImage | null = null
        let revision = 1
        for (const next of commands) {
          const at = moment(revision)
          const target = { ...place, targetKey: next.type === 'forget' ? 2 : next.target }
          if (next.type === 'forget' && !known) continue
          const outcome: Transition = apply(known, next, target, at)
          const entry = {
            firstRevision: revision,
            at: at.at,
            observedAt: null,
            targetKey: outcome.deployment.targetKey,
            rolloutKey: outcome.deployment.rolloutKey,
            instanceKey: null,
            changes: outcome.changes,
          }
          const before: DeploymentImage | null = folded
          outcome.changes.forEach((_, index) => {
            const { targetKey, rolloutKey } = entry
            const image = imageAt(before, entry, revision + index)
            expect(image).toMatchObject({ revision: revision + index, targetKey, rolloutKey })
          })
          folded = imageAt(before, entry, revision + outcome.changes.length)
          known = outcome.deployment
          revision += outcome.changes.length
          expect(folded).toEqual(imageOf(known, folded))
        }
      }),
    )
  })

  type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

  function apply(known: Deployment | null, next: Command, target: typeof place, at: Moment): Transition {
    switch (next.type) {
      case 'report':
        return applyReport(known, report(next), target, at)
      case 'declare': {
        const declaration = { ...next, deploymentId: 'd', reporter: 'edge-1', applicationVersion: null }
        const rolloutKey = known?.rolloutKey ?? next.rolloutKey ?? target.rolloutKey
        return applyDeclaration(known, declaration, { ...target, rolloutKey }, at)
      }
      case 'forget':
        return known ? forgetDeployment(known, at) : expect.unreachable()
    }
  }

  /** The members of the deployment that an image has. */
  function imageOf(deployment: Deployment, like: DeploymentImage | null): Partial<Deployment> {
    return Object.fromEntries(Object.keys(like ?? {}).map((key) => [key, deployment[key as keyof DeploymentImage]]))
  }
})
