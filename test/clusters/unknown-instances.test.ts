import { describe, expect, it } from 'vitest'
import { newContext } from '../support/systems/emco.ts'
import { isWatching, useWatched, waitingIn } from './harness.ts'

const { open } = useWatched()

describe('what a cluster shows of an unknown instance', () => {
  it('waits, and is there as soon as the instance is', async () => {
    const { cluster, watch, put, instantiate, shown } = await open()
    const unknown = newContext()
    const clusters = watch({ waiting: { backOff: { first: 2 ** 30, longest: 2 ** 30 } } })
    await isWatching(cluster)
    put('web', ['a'], unknown)
    put('web', ['b'], unknown)
    await expect.poll(() => waitingIn(clusters)).toBe(1)
    await instantiate(unknown)
    await expect.poll(() => shown(unknown)).toEqual(['web/b PRESENT'])
    expect(waitingIn(clusters)).toBe(0)
  })

  it('is tried again periodically, also without an announcement of its instance', async () => {
    const { road, watch, put, instantiate, shown } = await open()
    const unknown = newContext()
    const clusters = watch({
      hub: { ...road.feed.hub, subscribe: () => () => {} },
      waiting: { backOff: { first: 5, longest: 20 } },
    })
    put('web', ['a'], unknown)
    await expect.poll(() => waitingIn(clusters)).toBe(1)
    await instantiate(unknown)
    await expect.poll(() => shown(unknown)).toEqual(['web/a PRESENT'])
  })

  it('does not wait when it has gone', async () => {
    const { cluster, watch, put, remove } = await open()
    const unknown = newContext()
    const clusters = watch()
    await isWatching(cluster)
    put('web', ['a'], unknown)
    put('db', ['a'], unknown)
    await expect.poll(() => waitingIn(clusters)).toBe(2)
    remove('web', unknown)
    await expect.poll(() => waitingIn(clusters)).toBe(1)
    cluster.refuse(503)
    cluster.drop()
    remove('db', unknown)
    cluster.compact('stream')
    cluster.accept()
    await expect.poll(() => waitingIn(clusters)).toBe(0)
  })

  it('takes bounded room; an object that was dropped is listed again when its instance is created', async () => {
    const { cluster, verdicts, watch, put, instantiate, shown } = await open()
    const contexts = Array.from({ length: 9 }, newContext)
    for (const context of contexts) put('web', ['a'], context)
    const clusters = watch({ waiting: { most: 4 } })
    await isWatching(cluster)
    expect(waitingIn(clusters)).toBe(4)
    expect(verdicts.filter(({ verdict }) => verdict === 'DROPPED').reduce((sum, { count }) => sum + count, 0)).toBe(5)
    await instantiate(contexts[0] ?? '')
    // A stream ends by itself, sooner or later.
    await expect
      .poll(() => {
        cluster.end()
        return shown(contexts[0])
      })
      .toEqual(['web/a PRESENT'])
  })
})
