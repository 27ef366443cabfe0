/** What a report does not make clear about components. */
import { describe, expect, it } from 'vitest'
import { report } from '../support/clients/reports.ts'
import { component, last, play } from './play.ts'

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

  it('keeps all components if it names one only, and that is not understood', () => {
    const first = report({ components: [component('a'), component('b')] })
    const kept = last(play(first, report({ components: [], unread: [{ name: 'a', said: 'off' }] })))
    expect(kept.deployment.components).toMatchObject([{ name: 'a', state: 'PENDING', unread: 'off' }, { name: 'b' }])
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
