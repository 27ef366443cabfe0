import { describe, expect, test } from 'vitest'
import { readiness } from '../../src/domain/readiness/index.ts'

const says = (type: string, status: string, reason?: string, message?: string) => ({ type, status, reason, message })
const thing = (conditions: readonly object[], metadata: object = {}, observedGeneration?: number) => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata,
  status: { conditions, observedGeneration },
})

const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 }
const stalled = says('Stalled', 'True', 'NoQuota', 'out of quota')
const reconciling = says('Reconciling', 'True', 'Upgrading')
const notReady = says('Ready', 'False', 'Starting')

describe('the first that has something to say wins', () => {
  test.each([
    ['deletion before all', thing([stalled], deleted, 1), 'PENDING', 'Terminating'],
    ['an old generation before conditions', thing([stalled], { generation: 2 }, 1), 'PENDING', 'GenerationNotObserved'],
    ['Stalled before Reconciling', thing([reconciling, stalled], { generation: 2 }, 2), 'FAILED', 'NoQuota'],
    ['Reconciling before Ready', thing([says('Ready', 'True'), reconciling]), 'PENDING', 'Upgrading'],
    ['Ready where nothing else speaks', thing([notReady]), 'PENDING', 'Starting'],
    ['READY where nothing speaks', thing([]), 'READY', null],
  ])('%s', (_, object, expected, reason) => {
    expect(readiness(object)).toMatchObject({ readiness: expected, reason })
  })

  test('the standard conditions come before the rule of the kind', () => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', status: { conditions: [stalled] } }
    expect(readiness(map)).toEqual({ readiness: 'FAILED', reason: 'NoQuota', message: 'out of quota' })
  })
})

describe('the signs of no kind in particular', () => {
  test.each([
    ['a generation observed ahead of the object is not old', thing([], { generation: 1 }, 2), 'READY'],
    ['a kind that observes no generations is not held to them', thing([], { generation: 7 }), 'READY'],
    [
      'conditions that are denied say nothing',
      thing([says('Stalled', 'False'), says('Reconciling', 'Unknown')]),
      'READY',
    ],
    ['Ready: True', thing([says('Ready', 'True', 'Fine')]), 'READY'],
    ['Ready: Unknown', thing([says('Ready', 'Unknown')]), 'PENDING'],
    ['Ready: nonsense', thing([says('Ready', 'perhaps')]), 'PENDING'],
    ['an empty deletion time', thing([], { deletionTimestamp: '' }), 'READY'],
    ['no deletion time', thing([], { deletionTimestamp: null }), 'READY'],
  ])('%s', (_, object, expected) => {
    expect(readiness(object).readiness).toBe(expected)
  })
})

describe('what is no object', () => {
  test.each([null, undefined, 7, 'Pod', true, [], [{ kind: 'Pod' }], () => 1])('%j is unknown', (value) => {
    expect(readiness(value)).toMatchObject({ readiness: 'UNKNOWN', reason: 'Malformed' })
  })

  test.each([
    { kind: 'ConfigMap', status: 'fine' },
    { kind: 'ConfigMap', metadata: [] },
    { kind: 'ConfigMap', spec: 1 },
    { kind: 'ConfigMap', status: { conditions: { Ready: 'True' } } },
  ])('%j is unknown', (value) => {
    expect(readiness(value)).toMatchObject({ readiness: 'UNKNOWN', reason: 'Malformed' })
  })

  test('an object that names no kind is known only by its conditions', () => {
    expect(readiness({})).toMatchObject({ readiness: 'UNKNOWN', reason: 'KindUnknown' })
    expect(readiness({ status: { conditions: [notReady] } })).toMatchObject({
      readiness: 'PENDING',
      reason: 'Starting',
    })
  })
})
