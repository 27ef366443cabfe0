import { describe, expect, it } from 'vitest'
import type { Deployment } from '../../src/domain/deployment.ts'
import type { StatusReport } from '../../src/domain/report.ts'
import { applyReport } from '../../src/domain/transition/transition.ts'
import type { Transition } from '../../src/domain/transition/transition-result.ts'
import type { StatusError } from '../../src/domain/values.ts'
import { report } from '../support/clients/reports.ts'
import { moment, place } from './moments.ts'

const component = (name: string, state: StatusReport['state'] = 'PENDING', error: StatusError | null = null) => ({
  name,
  state,
  error,
})

function play(...reports: StatusReport[]): Transition[] {
  let known: Deployment | null = null
  let revision = 1
  return reports.map((next) => {
    const outcome = applyReport(known, next, place, moment(revision))
    known = outcome.deployment
    revision += outcome.changes.length
    return outcome
  })
}

const last = (transitions: Transition[]): Transition => transitions.at(-1) ?? expect.unreachable()

describe('a report', () => {
  it('keeps a component that it did not make clear as it was, with what it said, until it does', () => {
    const error = { code: 'x', message: 'y' }
    const first = report({ components: [component('a', 'FAILED', error), component('b'), component('c')] })
    const unclear = report({ components: [component('b', 'INSTALLED')], unread: [{ name: 'a', said: 'state "off"' }] })
    const [, kept, again, clear] = play(
      first,
      unclear,
      unclear,
      report({ components: [component('a', 'FAILED', error)] }),
    )
    expect(kept?.changes).toMatchObject([
      { kind: 'COMPONENT_STATE_CHANGED', component: 'a', from: 'FAILED', to: 'FAILED', unread: 'state "off"' },
      { kind: 'COMPONENT_STATE_CHANGED', component: 'b' },
      { kind: 'COMPONENT_REMOVED', component: 'c' },
    ])
    expect(kept?.deployment.components).toMatchObject([
      { name: 'a', state: 'FAILED', error, unread: 'state "off"' },
      { name: 'b', state: 'INSTALLED' },
    ])
    expect(again?.verdict).toBe('UNCHANGED')
    expect(clear?.deployment.components).toEqual([expect.not.objectContaining({ unread: expect.anything() })])
  })

  it('keeps all components that it omits, if one that it names cannot be identified', () => {
    const first = report({ components: [component('a'), component('b')] })
    const unclear = report({ components: [component('b', 'INSTALLED')], unread: [{ name: null, said: 'a list' }] })
    const kept = last(play(first, unclear))
    expect(kept.deployment.components.map(({ name, state }) => [name, state])).toEqual([
      ['a', 'PENDING'],
      ['b', 'INSTALLED'],
    ])
    expect(last(play(first, report({ components: [], unread: [{ name: null, said: 'a' }] }))).verdict).toBe('UNCHANGED')
  })

  it('grows by reports that each are unclear to the size of one report only', () => {
    const message = 'x'.repeat(60_000)
    const reports = Array.from({ length: 9 }, (_, n) =>
      report({
        components: Array.from({ length: 300 }, (_, i) =>
          component(`${n}-${i}`, 'FAILED', i === 0 ? { code: 'c', message } : null),
        ),
        unread: [{ name: null, said: 'a list' }],
      }),
    )
    const { components } = last(play(...reports)).deployment
    expect(components).toHaveLength(1000)
    expect(components.reduce((sum, { error }) => sum + (error?.message.length ?? 0), 0)).toBeLessThan(327_680)
  })
})
