import { describe, expect, it } from 'vitest'
import type { StatusReport } from '../../src/domain/report.ts'
import { applyDeclaration, type Declaration } from '../../src/domain/transition/declaration.ts'
import { applyReport, forgetDeployment } from '../../src/domain/transition/transition.ts'
import type { FailureStage } from '../../src/domain/values.ts'
import { report } from '../support/clients/reports.ts'
import { moment, place } from './moments.ts'
import { component, last, play } from './play.ts'

describe('a report', () => {
  it('that is the first gives one change for the deployment and one a component', () => {
    const [first] = play(report({ components: [component('a'), component('b', 'INSTALLED')] }))
    expect(first?.verdict).toBe('APPLIED')
    expect(first?.changes.map(({ kind }) => kind)).toEqual([
      'DEPLOYMENT_STATE_CHANGED',
      'COMPONENT_STATE_CHANGED',
      'COMPONENT_STATE_CHANGED',
    ])
    expect(first?.deployment).toMatchObject({ revision: 3, derivedState: 'INSTALLING', consistent: true, attempt: 1 })
    expect(first?.deployment.components.map(({ revision }) => revision)).toEqual([2, 3])
  })

  it('that repeats what is known changes nothing, in whatever order its components come', () => {
    const a = component('a')
    const b = component('b', 'FAILED', { code: 'x', message: 'y' })
    const repeated = last(play(report({ components: [a, b] }), report({ components: [b, a], observedAt: 5 })))
    expect(repeated).toMatchObject({ verdict: 'UNCHANGED', changes: [] })
    expect(repeated.deployment.reportedAt).toBe(5)
    expect(repeated.deployment.marks.observedAt).toBe(5)
  })

  it.each([
    ['before its components', 'INSTALLING', ['PENDING', 'PENDING'], 'PRE_PROCESSING', true],
    ['in one of them', 'INSTALLING', ['INSTALLED', 'FAILED'], 'PROCESSING', true],
    ['between them', 'INSTALLING', ['INSTALLED', 'PENDING'], 'PROCESSING', false],
    ['after them', 'INSTALLING', ['INSTALLED', 'INSTALLED'], 'POST_PROCESSING', true],
    ['before their removal', 'REMOVING', ['INSTALLED', 'INSTALLED'], 'PRE_PROCESSING', true],
    ['after their removal', 'REMOVING', ['REMOVED', 'REMOVED'], 'POST_PROCESSING', true],
    ['without any', 'INSTALLING', [], null, true],
  ] as const)('of a failure says where it was: %s', (_, before, states, failureStage, consistent) => {
    const components = states.map((state, i) => component(`c${i}`, state))
    const failed = report({ state: 'FAILED', components })
    const [, first, again, over] = play(report({ state: before }), failed, failed, report({ state: 'INSTALLED' }))
    expect(first?.deployment).toMatchObject({ failureStage, consistent })
    expect(first?.changes[0]).toMatchObject({ to: 'FAILED', ...(failureStage && { failureStage }) })
    expect(again).toMatchObject({ verdict: 'UNCHANGED', deployment: { failureStage } })
    expect(over?.deployment.failureStage).toBeNull()
  })

  it('that says itself where it failed is believed, and its components are held against it', () => {
    const told = (failureStage: FailureStage, ...components: StatusReport['components']) =>
      report({ state: 'FAILED', failureStage, components })
    const [first, second, third] = play(
      told('POST_PROCESSING'),
      told('PRE_PROCESSING'),
      told('PRE_PROCESSING', component('a', 'FAILED')),
    )
    expect(first?.deployment).toMatchObject({ failureStage: 'POST_PROCESSING', consistent: true })
    expect(second?.changes).toMatchObject([{ from: 'FAILED', to: 'FAILED', failureStage: 'PRE_PROCESSING' }])
    expect(third?.deployment).toMatchObject({ failureStage: 'PRE_PROCESSING', consistent: false })
  })

  it('that is older changes nothing and says by which key', () => {
    const stale = last(play(report({ seq: '2', state: 'INSTALLED' }), report({ seq: '1', state: 'FAILED' })))
    expect(stale).toMatchObject({ verdict: 'STALE', staleBy: 'seq', changes: [] })
    expect(stale.deployment.state).toBe('INSTALLED')
  })

  it('without components says nothing about them', () => {
    const outcome = last(play(report({ components: [component('a')] }), report({ state: 'INSTALLING' })))
    expect(outcome.deployment.components.map(({ name }) => name)).toEqual(['a'])
  })

  it('with components is the whole picture: an absent one goes', () => {
    const outcome = last(
      play(report({ components: [component('a'), component('b')] }), report({ components: [component('b')] })),
    )
    expect(outcome.changes).toEqual([{ kind: 'COMPONENT_REMOVED', component: 'a', from: 'PENDING' }])
  })

  it('opens a new attempt when it begins again after an end', () => {
    const attempts = play(
      report({ state: 'INSTALLED' }),
      report({ state: 'INSTALLING' }),
      report({ state: 'PENDING' }),
      report({ state: 'FAILED' }),
      report({ state: 'REMOVING' }),
      report({ state: 'REMOVED' }),
      report({ state: 'PENDING' }),
    ).map(({ deployment }) => deployment.attempt)
    expect(attempts).toEqual([1, 2, 2, 2, 2, 2, 3])
  })

  it('from the same state with another error is a change of the error alone', () => {
    const reason = { code: 'wait', message: 'policy agent' }
    const outcome = last(play(report(), report({ error: reason })))
    expect(outcome.changes).toEqual([
      expect.objectContaining({ kind: 'DEPLOYMENT_STATE_CHANGED', from: 'PENDING', to: 'PENDING', error: reason }),
    ])
  })

  const failed = { code: 'x', message: 'of the former device' }
  const elsewhere = { ...place, targetKey: 9 }

  it('about another device moves the deployment, and leaves behind what was reported of the former one', () => {
    const { deployment } = last(
      play(
        report({ state: 'FAILED', error: failed, components: [component('a', 'FAILED', failed)], observedAt: 5 }),
        report({ state: 'INSTALLING', adoptedManifestVersion: '7', seq: '3' }),
      ),
    )
    expect(deployment.attempt).toBe(2)
    const known = { ...deployment, stalled: true }
    const moved = applyReport(known, report({ state: 'INSTALLING', seq: '4' }), elsewhere, moment(9))
    expect(moved.changes).toEqual([
      { kind: 'DEPLOYMENT_MOVED', fromTargetKey: 2, toTargetKey: 9 },
      expect.objectContaining({ from: null, to: 'INSTALLING', error: null, attempt: 1, adoptedManifestVersion: '7' }),
    ])
    expect(moved.deployment).toMatchObject({
      ...{ key: known.key, targetKey: 9, components: [], derivedState: null, stalled: false, reportedAt: null },
    })
    const late = applyReport(moved.deployment, report({ seq: '2' }), place, moment(11))
    expect(late).toMatchObject({ verdict: 'STALE', staleBy: 'seq' })
  })

  it('about another device tells the convergence that follows from it there, and never the former one', () => {
    const { deployment } = last(play(report({ state: 'FAILED', adoptedManifestVersion: '7' })))
    const desired = { targetManifestVersion: '7', documentDigest: 'sha256:0' }
    const known = { ...deployment, ...desired, convergence: 'FAILED' } as const
    for (const [state, to] of [
      ['INSTALLED', 'CONVERGED'],
      ['INSTALLING', 'APPLYING'],
      ['FAILED', 'FAILED'],
    ] as const) {
      const moved = applyReport(known, report({ state }), elsewhere, moment(9))
      expect(moved.changes.slice(2)).toEqual([{ kind: 'CONVERGENCE_CHANGED', from: 'UNKNOWN', to, ...desired }])
      expect(moved.deployment).toMatchObject({ convergence: to, ...desired })
    }
  })

  it('about another device keeps what was declared: its components are PENDING until they are reported', () => {
    const declared = { deploymentId: 'd', reporter: 'edge-1', application: 'app', applicationVersion: null }
    const made = applyDeclaration(null, { ...declared, components: ['a'], rolloutKey: null }, place, moment(1))
    const there = applyReport(
      made.deployment,
      report({ state: 'FAILED', components: [component('a', 'FAILED', failed), component('b')] }),
      place,
      moment(4),
    )
    const moved = applyReport(there.deployment, report({ state: 'INSTALLED' }), elsewhere, moment(9))
    expect(moved.deployment).toMatchObject({ application: 'app', rolloutKey: 3, declaredComponents: ['a'] })
    expect(moved.changes.slice(2)).toEqual([
      { kind: 'COMPONENT_STATE_CHANGED', component: 'a', from: null, to: 'PENDING', error: null },
    ])
  })
})

describe('a declaration', () => {
  const declared = (some: Partial<Declaration> = {}): Declaration => ({
    deploymentId: 'd',
    reporter: 'edge-1',
    application: null,
    applicationVersion: null,
    components: null,
    rolloutKey: null,
    ...some,
  })

  it('is PENDING until the first report, which keeps declared components that it does not name', () => {
    const made = applyDeclaration(null, declared({ components: ['a', 'b'] }), place, moment(1))
    expect(made.deployment).toMatchObject({ state: 'PENDING', claimed: false, derivedState: 'PENDING' })
    const outcome = applyReport(
      made.deployment,
      report({ components: [component('b', 'INSTALLED')] }),
      place,
      moment(4),
    )
    expect(outcome.deployment.components.map(({ name, state }) => [name, state])).toEqual([
      ['a', 'PENDING'],
      ['b', 'INSTALLED'],
    ])
    expect(outcome.deployment.claimed).toBe(true)
  })

  it('that names no components takes back those that were only declared', () => {
    const made = applyDeclaration(null, declared({ components: ['a'] }), place, moment(1)).deployment
    expect(applyDeclaration(made, declared(), place, moment(3)).verdict).toBe('UNCHANGED')
    const outcome = applyDeclaration(made, declared({ components: [] }), place, moment(3))
    expect(outcome.changes).toEqual([{ kind: 'COMPONENT_REMOVED', component: 'a', from: 'PENDING' }])
    expect(outcome.deployment.components).toEqual([])
  })

  it('of what is known already revises it and leaves its state alone', () => {
    const known = last(play(report({ state: 'INSTALLED', components: [component('a', 'INSTALLED')] }))).deployment
    const outcome = applyDeclaration(
      known,
      declared({ application: 'app', rolloutKey: 7, components: ['a', 'c'] }),
      place,
      moment(5),
    )
    expect(outcome.deployment).toMatchObject({ state: 'INSTALLED', rolloutKey: 7, application: 'app', claimed: true })
    expect(outcome.changes.map(({ kind }) => kind)).toEqual(['DEPLOYMENT_REVISED', 'COMPONENT_STATE_CHANGED'])
    const again = applyDeclaration(
      outcome.deployment,
      declared({ application: 'app', rolloutKey: 7 }),
      place,
      moment(9),
    )
    expect(again.verdict).toBe('UNCHANGED')
  })
})

describe('forgetting', () => {
  it('is one change, and a new report restores the deployment like a first report', () => {
    const known = last(
      play(report({ seq: '9', state: 'INSTALLED', components: [component('a', 'INSTALLED')] })),
    ).deployment
    const gone = forgetDeployment(known, moment(3)).deployment
    expect(forgetDeployment(gone, moment(4)).verdict).toBe('UNCHANGED')
    const back = applyReport(gone, report({ seq: '1', components: [component('a')] }), place, moment(4))
    expect(back.verdict).toBe('APPLIED')
    expect(back.changes).toEqual([
      expect.objectContaining({ from: null, to: 'PENDING', attempt: 2 }),
      expect.objectContaining({ component: 'a', from: null }),
    ])
    expect(back.deployment).toMatchObject({ key: known.key, forgottenAt: null })
  })

  it('and coming back on another target tells nothing of the former one', () => {
    const known = last(play(report({ state: 'INSTALLED', observedAt: 5 }), report({ state: 'INSTALLING' }))).deployment
    const gone = { ...forgetDeployment(known, moment(3)).deployment, stalled: true }
    const there = { ...place, targetKey: 9 }
    const declared = { deploymentId: 'd', reporter: 'edge-2', application: null, applicationVersion: null }
    for (const back of [
      applyReport(gone, report(), there, moment(4)),
      applyDeclaration(gone, { ...declared, components: null, rolloutKey: null }, there, moment(4)),
    ]) {
      expect(back.changes).toEqual([expect.objectContaining({ from: null, to: 'PENDING', attempt: 1 })])
      expect(back.deployment).toMatchObject({ key: known.key, targetKey: 9, stalled: false, reportedAt: null })
    }
  })
})
