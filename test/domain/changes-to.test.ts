/** The changes that a snapshot of a site makes, replayed, give what the snapshot says. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DeploymentImage, initialImage } from '../../src/domain/deployment.ts'
import { imageAt } from '../../src/domain/fold.ts'
import { deriveState, isConsistent } from '../../src/domain/rollup.ts'
import { changesTo } from '../../src/domain/sites/changes-to.ts'
import { deploymentStates } from '../../src/domain/values.ts'

const error = fc.constantFrom(null, { code: 'a', message: '' }, { code: 'b', message: 'x' })
const state = fc.constantFrom(...deploymentStates)
const component = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  state,
  error,
  changedAt: fc.constant(0),
  revision: fc.constant(0),
})
const image: fc.Arbitrary<DeploymentImage> = fc
  .record({
    targetKey: fc.constantFrom(2, 3),
    rolloutKey: fc.constantFrom(5, 6),
    isCurrent: fc.boolean(),
    application: fc.constantFrom(null, 'x', 'y'),
    applicationVersion: fc.constantFrom(null, '1', '2'),
    state,
    error,
    failureStage: fc.constantFrom(null, 'PROCESSING' as const),
    readiness: fc.constantFrom('READY' as const, 'UNKNOWN' as const),
    components: fc.uniqueArray(component, { selector: ({ name }) => name }),
    attempt: fc.constantFrom(1, 2),
    adoptedManifestVersion: fc.constantFrom(null, '1', '2'),
    targetManifestVersion: fc.constantFrom(null, '1', '2'),
    convergence: fc.constantFrom('UNKNOWN' as const, 'STALE' as const),
    stalled: fc.boolean(),
    forgottenAt: fc.constantFrom(null, 1),
  })
  .map((fields) => ({
    ...initialImage,
    ...fields,
    derivedState: deriveState(fields.components),
    consistent: isConsistent(fields.state, fields.components, fields.failureStage),
    ...{ reportedAt: null, changedAt: 0, revision: 0 },
  }))

/** But for the times and revisions, which are the reader's own. */
function compared(given: DeploymentImage | null): object | null {
  if (given === null) return null
  const { changedAt, revision, reportedAt, forgottenAt, components, ...rest } = given
  return {
    ...rest,
    isForgotten: forgottenAt !== null,
    components: Object.fromEntries(components.map(({ name, state, error }) => [name, { state, error }])),
  }
}

describe('the changes to what a snapshot says', () => {
  it('replayed, give it', () => {
    fc.assert(
      fc.property(fc.option(image), image, (known, wanted) => {
        const changes = changesTo(known, wanted)
        const { targetKey, rolloutKey } = wanted
        const entry = { firstRevision: 10, at: 5, observedAt: null, targetKey, rolloutKey, instanceKey: null, changes }
        const made = imageAt(known, entry, Number.MAX_SAFE_INTEGER)
        const isNothing = wanted.forgottenAt !== null && (known === null || known.forgottenAt !== null)
        if (isNothing) expect(changes).toEqual([])
        else expect(compared(made)).toEqual(compared(wanted))
      }),
      { numRuns: 1_000 },
    )
  })

  it('are none of what is so already', () => {
    fc.assert(
      fc.property(image, (known) => {
        expect(changesTo(known, known)).toEqual([])
      }),
    )
  })
})
