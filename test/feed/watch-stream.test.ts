import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Change } from '../../src/domain/change.ts'
import { createHub } from '../../src/feed/hub.ts'
import { createWatchStream } from '../../src/feed/watch-stream.ts'
import type { Snapshot } from '../../src/store/database.ts'
import { iterate } from '../support/clients/iterate.ts'

describe('a watched state', () => {
  it('gets no change again that it has shown, when the log was read beyond it', async () => {
    const head = { revision: 0, epochBase: 0, tail: 0, tailAt: 0, at: 0, writes: 0 }
    const log = [1, 2, 3].map((revision) => ({ revision, kind: 'DEPLOYMENT_STALLED' }) as unknown as Change)
    const hub = createHub({ head: async () => ({ ...head, revision: 3 }), read: async () => log }, head)
    // Each present is one commit later; the hub hears of all of them at once.
    let present = 0
    const refresher = {
      async join() {
        present += 1
        await hub.reach(present)
        return { snapshot: { derived: new Map() } as unknown as Snapshot, revision: present, release: () => {} }
      },
    }
    const stream = iterate(
      createWatchStream(
        { hub, refresher, whenReadable: () => {}, capacity: 10, subscribers: () => 1 },
        { topics: ['all'] },
      ),
    )
    const told = [await stream.next(), await stream.next(), await stream.next()]
    expect(told.map(({ value }) => [value?.cursor, value?.changes.map((change: Change) => change.revision)])).toEqual([
      [1, []],
      [2, [2]],
      [3, [3]],
    ])
    await stream.return()
  })

  it('counts the commits that the hub read from the log at once', async () => {
    const head = { revision: 1, epochBase: 0, tail: 0, tailAt: 0, at: 0, writes: 0 }
    const log = [1, 1, 2, 3].map((at, index) => ({ revision: index + 2, at, kind: 'DEPLOYMENT_STALLED' }) as Change)
    const hub = createHub({ head: async () => ({ ...head, revision: 5 }), read: async () => log }, head)
    const refresher = {
      join: async () => ({ snapshot: {} as unknown as Snapshot, revision: hub.last, release: () => {} }),
    }
    const stream = iterate(
      createWatchStream(
        { hub, refresher, whenReadable: () => {}, capacity: 2, subscribers: () => 1 },
        { topics: ['all'] },
      ),
    )
    await stream.next()
    await hub.reach(5)
    const { value } = await stream.next()
    // One of three commits is beyond the capacity: counted, but without its changes.
    expect([value?.cursor, value?.coalesced, value?.isComplete]).toEqual([5, 2, false])
    expect(value?.changes.map((change: Change) => change.revision)).toEqual([4, 5])
    await stream.return()
  })

  it('that reads much pauses four times as long, merges what happens meanwhile, and can be closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const head = { revision: 0, epochBase: 0, tail: 0, tailAt: 0, at: 0, writes: 0 }
    const hub = createHub({ head: async () => head, read: async () => [] }, head)
    const refresher = {
      join: async () => ({ snapshot: {} as unknown as Snapshot, revision: hub.last, release: () => {} }),
    }
    const stream = createWatchStream(
      { hub, refresher, whenReadable: () => {}, capacity: 10, subscribers: () => 1 },
      { topics: ['all'], isPaced: true },
    )
    let woken = 0
    stream.onWake(() => {
      woken += 1
    })
    const change = () =>
      hub.publish(hub.last, [{ revision: hub.last + 1, kind: 'DEPLOYMENT_STALLED' } as unknown as Change])
    change()
    const first = await stream.next()
    vi.advanceTimersByTime(100)
    if (typeof first === 'object') first.release()
    change()
    expect(await stream.next()).toBe('idle')
    expect(stream.isIdle()).toBe(false)
    change()
    vi.advanceTimersByTime(399)
    expect(woken).toBe(0)
    vi.advanceTimersByTime(2)
    expect(woken).toBe(1)
    const second = await stream.next()
    expect(second).toMatchObject({ cursor: 3, coalesced: 1 })
    vi.advanceTimersByTime(60_000)
    if (typeof second === 'object') second.release()
    expect(await stream.next()).toBe('idle')
    change()
    vi.advanceTimersByTime(4_000)
    expect(woken).toBe(1)
    stream.close()
    expect(woken).toBe(2)
    expect(await stream.next()).toBe('ended')
    expect(vi.getTimerCount()).toBe(0)
  })
})
