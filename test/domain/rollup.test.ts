import { describe, expect, it } from 'vitest'
import { deriveState, isConsistent, mostSevereState } from '../../src/domain/rollup.ts'
import type { DeploymentState } from '../../src/domain/values.ts'

const P = 'PENDING'
const I = 'INSTALLING'
const D = 'INSTALLED'
const F = 'FAILED'
const R = 'REMOVING'
const X = 'REMOVED'

const of = (...states: DeploymentState[]) => states.map((state) => ({ state }))

describe('the state that the components derive', () => {
  it.each<[string, DeploymentState[], DeploymentState | null]>([
    ['nothing', [], null],
    ['all alike', [D, D], D],
    ['all pending', [P, P], P],
    ['all removed', [X], X],
    ['any failed', [D, R, I, F, P, X], F],
    ['any removing', [D, R, I, P], R],
    ['any installing', [D, I, P, X], I],
    ['half done', [D, P], I],
    ['half gone', [D, X], R],
    ['not begun, partly gone', [P, X], P],
    ['half done, partly gone', [D, P, X], I],
  ])('%s', (_, states, expected) => {
    expect(deriveState(of(...states))).toBe(expected)
    expect(deriveState(of(...states.toReversed()))).toBe(expected)
  })
})

describe('whether reporter and components agree', () => {
  it('does when there are no components', () => expect(isConsistent(F, [])).toBe(true))
  it('does when the reported state is the derived one', () => expect(isConsistent(I, of(D, P))).toBe(true))
  it('does when the reporter answers with its worst component', () => {
    expect(mostSevereState(of(D, P))).toBe(P)
    expect(isConsistent(P, of(D, P))).toBe(true)
  })
  it('does not when it says more than its components', () => {
    expect(isConsistent(D, of(D, F))).toBe(false)
    expect(isConsistent(F, of(P, P))).toBe(false)
  })
  it('does when it failed before its components, or after them', () => {
    expect(isConsistent(F, of(P, P), 'PRE_PROCESSING')).toBe(true)
    expect(isConsistent(F, of(D, D), 'PRE_PROCESSING')).toBe(true)
    expect(isConsistent(F, of(D, D), 'POST_PROCESSING')).toBe(true)
    expect(isConsistent(F, of(X), 'POST_PROCESSING')).toBe(true)
  })
  it('does not when its components are not as such a failure leaves them', () => {
    expect(isConsistent(F, of(D, F), 'POST_PROCESSING')).toBe(false)
    expect(isConsistent(F, of(F, P), 'PRE_PROCESSING')).toBe(false)
    expect(isConsistent(F, of(D, P), 'POST_PROCESSING')).toBe(false)
    expect(isConsistent(F, of(D, P), 'PROCESSING')).toBe(false)
  })
})
