import { describe, expect, it } from 'vitest'
import type { Deployment } from '../../src/domain/deployment.ts'
import type { Target } from '../../src/domain/target.ts'
import { createRowCache } from '../../src/ingest/row-cache.ts'
import type { Effects } from '../../src/store/write/contract.ts'

const target = { key: 1, kind: 'DEVICE', name: 'edge', siteKey: 0 } as Target
const deployment = (key: number, components: number, reporter = 'edge', message = 'why') =>
  ({
    key,
    deploymentId: `app-${key}`,
    siteKey: 0,
    reporter,
    targetKey: 1,
    instanceKey: null,
    error: null,
    components: Array.from({ length: components }, () => ({ error: { code: 'E', message } })),
  }) as unknown as Deployment
const nothing = { deployments: new Map(), targets: new Map(), clearedMarks: new Set() } as unknown as Effects
const need = (key: number, reporter = 'edge') => ({
  deployments: [{ deploymentId: `app-${key}`, reporter, device: 'edge' }],
  devices: ['edge'],
})

/** The keys that are remembered, of these. */
function remembered(deployments: readonly Deployment[], capacity: number): number[] {
  const cache = createRowCache(capacity)
  for (const one of deployments) cache.remember({ deployments: [one], targets: [target], rollouts: [] }, nothing, 1)
  return deployments.map(({ key }) => key).filter((key) => cache.recall([need(key)]).missing.length === 0)
}

describe('the row cache', () => {
  it('drops the oldest of as many rows as it may have', () => {
    const small = Array.from({ length: 15 }, (_, key) => deployment(key, 2))
    expect(remembered(small, 10)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
  })

  it('holds fewer deployments with many components, or with long messages', () => {
    const large = Array.from({ length: 15 }, (_, key) => deployment(key, 19))
    expect(remembered(large, 10)).toEqual([13, 14])
    const wordy = Array.from({ length: 15 }, (_, key) => deployment(key, 1, 'edge', 'x'.repeat(3_600)))
    expect(remembered(wordy, 10)).toEqual([13, 14])
  })

  it('does not hold one that is larger than all of it, nor what it replaced', () => {
    const cache = createRowCache(10)
    cache.remember({ deployments: [deployment(1, 2)], targets: [target], rollouts: [] }, nothing, 1)
    cache.remember({ deployments: [deployment(1, 100)], targets: [], rollouts: [] }, nothing, 2)
    expect(cache.recall([need(1)]).missing).toHaveLength(1)
  })

  it('finds a deployment that another reporter claims by its new name only', () => {
    const cache = createRowCache(10)
    cache.remember({ deployments: [deployment(1, 2)], targets: [target], rollouts: [] }, nothing, 1)
    cache.remember({ deployments: [deployment(1, 2, 'gateway')], targets: [], rollouts: [] }, nothing, 2)
    expect(cache.recall([need(1)]).missing).toHaveLength(1)
    expect(cache.recall([need(1, 'gateway')]).missing).toEqual([])
  })
})
