/** What a hub reads: the log is read for subscribers, and not for the hub itself. */
import { describe, expect, it } from 'vitest'
import type { Change } from '../../src/domain/change.ts'
import { createHub, type Hub } from '../../src/feed/hub.ts'
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
})
