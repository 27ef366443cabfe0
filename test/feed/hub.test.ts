/** What a hub reads: the log is read for subscribers, and not for the hub itself. */
import { describe, expect, it } from 'vitest'
import type { Change } from '../../src/domain/change.ts'
import { createBacklog } from '../../src/feed/backlog.ts'
import { createHub, type Hub, type Topic } from '../../src/feed/hub.ts'
import type { LogHead } from '../../src/store/database.ts'

const start = { epochBase: 0, revision: 10, tail: 0, tailAt: 0, at: 0, writes: 0 }

function changeAt(revision: number): Change {
  return {
    kind: 'DEPLOYMENT_FORGOTTEN',
    revision,
    at: 0,
    observedAt: null,
    traceparent: null,
    deploymentKey: 1,
    deploymentId: 'd-1',
    resourceKey: null,
    targetKey: 1,
    targetKind: 'DEVICE',
    targetName: 'edge-1',
    fromTargetKey: null,
    fromTargetName: null,
    labels: [],
    rolloutKey: 1,
    fromRolloutKey: null,
    instanceKey: null,
    instanceId: null,
  }
}

function createLog(): { hub: Hub; head: () => LogHead; write: (revision: number) => void; reads: () => number } {
  let newest = start.revision
  let reads = 0
  const head = (): LogHead => ({ ...start, revision: newest })
  const hub = createHub(
    {
      head: async () => head(),
      async read(after) {
        reads += 1
        return Array.from({ length: newest - after }, (_, n) => changeAt(after + n + 1))
      },
    },
    head(),
  )
  const write = (revision: number): void => {
    newest = revision
  }
  return { hub, head, write, reads: () => reads }
}

describe('a hub', () => {
  it('without subscribers goes on without reading the log, and says that it moved', async () => {
    const { hub, head, write, reads } = createLog()
    let moves = 0
    hub.onMove(() => {
      moves += 1
    })
    write(20)
    expect(hub.advance(15)).toBe(true)
    await hub.follow(head())
    hub.publish(25, [changeAt(26)])
    expect({ last: hub.last, moves, reads: reads() }).toEqual({ last: 26, moves: 3, reads: 0 })
    expect(hub.recent(20, 10)).toBeNull()
    expect(hub.recent(26, 10)).toEqual([])
  })

  it('with a subscriber reads the log, and tells everything after the moment of its subscription', async () => {
    const { hub, head, write, reads } = createLog()
    const told: number[] = []
    write(15)
    await hub.follow(head())
    hub.subscribe({
      topics: ['deployment:d-1'],
      changed: (changes) => void told.push(...changes.map(({ revision }) => revision)),
      interrupted: () => expect.unreachable(),
    })
    write(18)
    expect(hub.advance(18)).toBe(false)
    await hub.follow(head())
    expect(told).toEqual([16, 17, 18])
    expect(reads()).toBe(1)
  })

  it.each(['published', 'read'] as const)('calls no subscriber without a topic of what it has %s', async (way) => {
    const { hub, head, write } = createLog()
    const calls = new Map<Topic, number>()
    const topics = [
      ...(['all', 'deployment:d-1', 'device:edge-1', 'rollout:1'] as const),
      ...(['created', 'deployment:d-2', 'device:edge-2', 'rollout:2', 'instance:i-1'] as const),
    ]
    for (const topic of topics)
      hub.subscribe({
        topics: [topic],
        changed: ({ length }) => void calls.set(topic, (calls.get(topic) ?? 0) + length),
        interrupted: () => expect.unreachable(),
      })
    for (const revision of [11, 12, 13]) {
      write(revision)
      if (way === 'read') await hub.follow(head())
      else hub.publish(revision - 1, [changeAt(revision)])
    }
    expect(Object.fromEntries(calls)).toEqual({ all: 3, 'deployment:d-1': 3, 'device:edge-1': 3, 'rollout:1': 3 })
  })
})

describe('what a server keeps of the log', () => {
  const largeAt = (revision: number): Change => ({ ...changeAt(revision), deploymentId: 'x'.repeat(1_000) })
  const revisions = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n)

  it('of what was published is bounded in bytes', () => {
    const hub = createHub({ head: async () => start, read: async () => [] }, start, 1_000, 20_000)
    hub.subscribe({ topics: ['all'], changed: () => {}, interrupted: () => {} })
    for (const revision of revisions(11, 200)) hub.publish(revision - 1, [largeAt(revision)])
    expect(hub.recent(10, 1_000)).toBeNull()
    const kept = revisions(11, 200).filter((revision) => hub.recent(revision - 1, 1_000) !== null)
    expect(kept.length).toBeGreaterThan(5)
    expect(kept.length).toBeLessThan(31)
    expect(hub.recent((kept[0] ?? 0) - 1, 1_000)?.map(({ revision }) => revision)).toEqual(kept)
  })

  it('is nothing of what was published while no subscriber had a topic', () => {
    const hub = createHub({ head: async () => start, read: async () => [] }, start)
    for (const revision of revisions(11, 5)) hub.publish(revision - 1, [changeAt(revision)])
    expect(hub.last).toBe(15)
    expect([10, 14].map((after) => hub.recent(after, 10))).toEqual([null, null])
    hub.subscribe({ topics: ['all'], changed: () => {}, interrupted: () => {} })
    hub.publish(15, [changeAt(16)])
    expect(hub.recent(15, 10)?.map(({ revision }) => revision)).toEqual([16])
  })

  it('of what subscribers read again is bounded in bytes', async () => {
    let reads = 0
    const log = {
      head: async () => ({ ...start, revision: 1_000 }),
      async read(after: number, limit: number) {
        reads += 1
        return revisions(after + 1, limit).map(largeAt)
      },
    }
    const hub = createHub(log, { ...start, revision: 1_000 })
    const backlog = createBacklog(log, hub, { blockSize: 10, bytes: 50_000 })
    async function readAll(numbers: readonly number[]): Promise<number> {
      const before = reads
      for (const number of numbers) expect((await backlog(number * 10)).changes[0]?.revision).toBe(number * 10 + 1)
      return reads - before
    }
    expect(await readAll([1, 2, 3, 1, 2, 3])).toBe(3)
    expect(await readAll([4, 5, 6, 7])).toBe(4)
    expect(await readAll([7, 6, 1, 2])).toBe(2)
  })

  it('of large entries is read once for each part that a subscriber passes', async () => {
    let reads = 0
    const log = {
      head: async () => ({ ...start, revision: 100 }),
      async read(after: number, limit: number) {
        reads += 1
        return revisions(after + 1, Math.min(limit, 3)).map(largeAt)
      },
    }
    const backlog = createBacklog(log, createHub(log, { ...start, revision: 100 }), { blockSize: 30, bytes: 10_000 })
    for (let after = 30; after < 60; after += 3) expect(await backlog(after)).toMatchObject({ upTo: after + 3 })
    expect(reads).toBe(10)
  })
})
