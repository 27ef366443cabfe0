import { describe, expect, it } from 'vitest'
import type { Kubernetes } from '../support/systems/kubernetes.ts'
import { isWatching, useWatched } from './harness.ts'

const { open } = useWatched()
/** Milliseconds without an answer. A cluster that works answers sooner, on a busy machine too. */
const timeout = 500

describe('the connectivity of a cluster', () => {
  it.each([
    ['refuses the connection', (cluster: Kubernetes) => cluster.refuse(503)],
    ['does not accept us any more', (cluster: Kubernetes) => cluster.refuse(401)],
    ['does not know the kind', (cluster: Kubernetes) => cluster.refuse(404)],
    ['answers nothing', (cluster: Kubernetes) => cluster.fallSilent()],
  ])('is lost when it %s, and back when it is', async (_, lose) => {
    const { cluster, watch, put, shown, connectivity, connections } = await open()
    const clusters = watch({ server: { timeout } })
    await isWatching(cluster)
    lose(cluster)
    cluster.drop()
    await expect.poll(connectivity).toBe('OFFLINE')
    expect(clusters.states()[0]?.failures).toBeGreaterThan(2)
    put('web', ['a'])
    cluster.accept()
    await expect.poll(connectivity).toBe('ONLINE')
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
    expect(await connections()).toEqual(['ONLINE', 'RETRYING', 'OFFLINE', 'ONLINE'])
  })

  it('is lost with a stream on which nothing comes any more, not even its end', async () => {
    const { cluster, watch, connectivity, connections } = await open()
    watch({ server: { timeout, streamSeconds: 1 } })
    await isWatching(cluster)
    cluster.fallSilent()
    await expect.poll(connectivity).toBe('OFFLINE')
    expect(await connections()).toEqual(['ONLINE', 'RETRYING', 'OFFLINE'])
  })

  it('says why in the log, without the credentials', async () => {
    const { cluster, logged, watch, connectivity, connections } = await open()
    cluster.refuse(403)
    watch()
    await expect.poll(connectivity).toBe('OFFLINE')
    expect(await connections()).toEqual(['OFFLINE'])
    const said = logged.filter(({ level }) => level === 'warn').map(({ msg }) => msg)
    expect(said).toEqual(['a cluster cannot be watched: it answers with 403 Refused: it says 403'])
    expect(JSON.stringify(logged)).not.toContain('a-token-for-tests')
  })

  it.each(['0', '-1', '1e308', 'Infinity', '99999999999', 'Fri, 31 Dec 1999 23:59:59 GMT', 'x', ''])(
    'is looked for after no more than its longest pause, whatever it says: %j',
    async (retryAfter) => {
      const { cluster, watch } = await open()
      cluster.refuse(503, { 'retry-after': retryAfter })
      watch({ backOff: { first: 20, longest: 100 } })
      await expect.poll(() => cluster.asked.length).toBeGreaterThan(4)
      const times = cluster.asked.map(({ at }) => at)
      // Nor without a pause.
      for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThan(8)
    },
  )

  it('is not looked for sooner than it says', async () => {
    const { cluster, watch } = await open()
    cluster.refuse(503, { 'retry-after': '1' })
    watch({ backOff: { first: 10, longest: 60_000 } })
    await expect.poll(() => cluster.asked.length).toBe(2)
    const [first, second] = cluster.asked.map(({ at }) => at)
    // Many times its own back-off; timers may be a little early, never late by less.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(900)
  })
})
