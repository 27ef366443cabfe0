/** What a slow subscriber holds of large changes: nothing that the hub has let go, and a small page of what it reads again. */
import { expect, it } from 'vitest'
import type { Change } from '../../src/domain/change.ts'
import { createBacklog } from '../../src/feed/backlog.ts'
import { sizeOf } from '../../src/feed/change-size.ts'
import { createChangeStream } from '../../src/feed/change-stream.ts'
import { createHub } from '../../src/feed/hub.ts'
import { createWatchStream } from '../../src/feed/watch-stream.ts'

const count = 200
const hubBytes = 1 << 20
const noSubject = { targetName: null, fromTargetName: null, rolloutKey: null, fromRolloutKey: null, instanceId: null }
const change = (revision: number): Change =>
  ({
    ...noSubject,
    ...{ revision, at: revision, deploymentId: 'd-1', kind: 'DEPLOYMENT_STATE_CHANGED', from: null, to: 'FAILED' },
    ...{ error: { code: 'E', message: 'x'.repeat(65_000) }, labels: [] },
  }) as unknown as Change

function createLog() {
  const changes: Change[] = []
  const log = {
    head: async () => ({ revision: changes.length, epochBase: 0 }) as never,
    read: async (after: number, limit: number, until = Number.POSITIVE_INFINITY) =>
      changes.filter(({ revision }) => revision > after && revision <= until).slice(0, limit),
  }
  const hub = createHub(log, { revision: 0, epochBase: 0 } as never, 10_000, hubBytes)
  const publishAll = (): void => {
    for (let revision = 1; revision <= count; revision += 1) {
      const one = change(revision)
      changes.push(one)
      hub.publish(revision - 1, [one])
    }
  }
  return { log, hub, publishAll }
}
const whenReadable = (): void => {}

it('a slow subscriber of changes gets all of them, and holds a bounded number of their bytes', async () => {
  const { log, hub, publishAll } = createLog()
  const range = async () => ({ head: hub.last, tail: 0, epochs: [{ base: 0, ended: null }] })
  const backlog = createBacklog(log, hub)
  const stream = createChangeStream({ hub, backlog, range, whenReadable, capacity: 10_000 }, { filter: {}, after: 0 })
  expect(await stream.next()).toBe('idle')
  publishAll()
  // The hub keeps more before it drops some.
  const held = () => sizeOf(stream.before().queue.queued)
  expect(held()).toBeLessThan(2 * hubBytes)
  const received: number[] = []
  let most = 0
  while (received.length < count) {
    const event = await stream.next()
    if (typeof event === 'string') expect.unreachable(event)
    expect(event.reset).toBeNull()
    received.push(event.cursor)
    if (received.length > 1) most = Math.max(most, held())
  }
  expect(received).toEqual(Array.from({ length: count }, (_, n) => n + 1))
  // 64 KiB, the change that exceeds them, and the one that was delivered last.
  expect(most).toBeLessThan(4 * 65_000)
  expect(await stream.next()).toBe('idle')
  stream.close()
})

it('a slow subscriber of a state counts all commits, and holds a bounded number of their bytes', async () => {
  const { hub, publishAll } = createLog()
  const refresher = { join: async () => ({ snapshot: {} as never, revision: hub.last, release: () => {} }) }
  const stream = createWatchStream(
    { hub, refresher, whenReadable, capacity: 1_000, subscribers: () => 1 },
    { topics: ['all'], from: { cursor: 1, commits: [], merged: 0, isComplete: true } },
  )
  publishAll()
  expect(sizeOf(stream.before().commits)).toBeLessThan(2 * hubBytes)
  const event = await stream.next()
  expect(event).toMatchObject({ cursor: count, coalesced: count - 1, isComplete: false })
  stream.close()
})
