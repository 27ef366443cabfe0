import { describe, expect, it } from 'vitest'
import { everyStore } from '../support/databases/stores.ts'
import { newContext } from '../support/systems/emco.ts'
import { isWatching, showing, useWatched } from './harness.ts'

const { open } = useWatched(everyStore)

describe.each(everyStore)('a watched cluster, on $name', (store) => {
  it('is shown as it is: what is listed, what comes, what changes, what goes', async () => {
    const { cluster, watch, put, remove, shown, connectivity } = await open(store)
    put('web', ['a', 'b'])
    watch()
    await expect.poll(() => shown()).toEqual(['web/a PRESENT', 'web/b PRESENT'])
    await isWatching(cluster)
    await expect.poll(connectivity).toBe('ONLINE')
    put('db', ['c'])
    await expect.poll(() => shown()).toContain('db/c PRESENT')
    put('web', ['b'])
    await expect.poll(() => shown()).toEqual(['web/b PRESENT', 'db/c PRESENT'])
    remove('db')
    await expect.poll(() => shown()).toEqual(['web/b PRESENT'])
    expect(cluster.asked[0]).toMatchObject({
      path: '/apis/k8splugin.io/v1alpha1/resourcebundlestates',
      authorization: 'Bearer a-token-for-tests',
    })
  })

  it('that changed while no server watched is reported when one watches again', async () => {
    const { watch, put, remove, shown, told } = await open(store)
    put('web', ['a'])
    put('db', ['c'])
    const before = watch()
    await expect.poll(() => shown()).toHaveLength(2)
    await before.stop()
    remove('db')
    put('web', ['a', 'b'])
    watch()
    await expect.poll(() => shown()).toEqual(['web/a PRESENT', 'web/b PRESENT'])
    expect(await told()).toContain('db NOT_PRESENT')
  })
})

describe('a watch', () => {
  it('goes on where it was when its stream ends or breaks, and lists once', async () => {
    const { cluster, watch, put, shown, connectivity, connections } = await open()
    watch()
    for (const [index, interrupt] of [cluster.end, cluster.drop, cluster.drop].entries()) {
      await isWatching(cluster)
      const asked = cluster.asked.length
      interrupt()
      put('web', [`a${index}`])
      await expect.poll(() => shown()).toEqual([`web/a${index} PRESENT`])
      expect(cluster.asked.length).toBeGreaterThan(asked)
    }
    expect(cluster.asked.filter(({ isWatch }) => !isWatch)).toHaveLength(1)
    expect(await connectivity()).toBe('ONLINE')
    // A broken stream is no lost cluster.
    expect(await connections()).toEqual(['ONLINE'])
  })

  it('goes on from a bookmark', async () => {
    const { cluster, watch } = await open()
    watch()
    await isWatching(cluster)
    cluster.bookmark()
    const { version } = cluster
    // Until it has come, it goes on from before it.
    await expect
      .poll(() => {
        cluster.end()
        return cluster.asked.at(-1)?.query.get('resourceVersion')
      })
      .toBe(String(version))
    expect(cluster.asked.every(({ isWatch, query }) => !isWatch || query.get('allowWatchBookmarks') === 'true')).toBe(
      true,
    )
  })

  it.each(['stream', 'status'] as const)(
    'that gets 410 Gone in its %s lists again, and misses nothing',
    async (how) => {
      const { cluster, watch, put, remove, shown, connectivity, told } = await open()
      put('web', ['a'])
      put('db', ['c'])
      watch()
      await isWatching(cluster)
      // It must not be back before that.
      cluster.refuse(503)
      cluster.drop()
      remove('db')
      put('web', ['a', 'b'])
      cluster.compact(how)
      cluster.accept()
      await expect.poll(() => shown()).toEqual(['web/a PRESENT', 'web/b PRESENT'])
      expect(await told()).toContain('db NOT_PRESENT')
      expect(cluster.asked.filter(({ isWatch }) => !isWatch)).toHaveLength(2)
      await expect.poll(connectivity).toBe('ONLINE')
    },
  )

  it('shows a cluster that was restored from a copy, although its versions begin again', async () => {
    const { cluster, watch, put, remove, shown } = await open()
    put('web', ['a'])
    put('old', ['c'])
    const copied = cluster.version
    put('web', ['b'])
    put('db', ['d'])
    remove('old')
    watch({ server: { streamSeconds: 0.05 } })
    const present = async () => (await shown()).filter((row) => row.endsWith(' PRESENT')).toSorted()
    await expect.poll(present).toEqual(['db/d PRESENT', 'web/b PRESENT'])
    cluster.restore(copied)
    const ended = setInterval(() => cluster.end(), 100)
    await expect
      .poll(present)
      .toEqual(['old/c PRESENT', 'web/a PRESENT'])
      .finally(() => clearInterval(ended))
    put('web', ['e'])
    await expect.poll(present).toEqual(['old/c PRESENT', 'web/e PRESENT'])
  })

  it('reads a list in pages, and whole when pages expire', async () => {
    const { cluster, watch, put, remove, shown } = await open()
    for (let index = 0; index < 7; index += 1) put(`app${index}`, ['a'])
    const first = watch({ server: { pageSize: 3 } })
    await expect.poll(() => shown()).toHaveLength(7)
    expect(cluster.asked.filter(({ query }) => query.get('limit') === '3')).toHaveLength(3)
    await first.stop()
    remove('app0')
    cluster.expirePages(1)
    watch({ server: { pageSize: 3 } })
    await expect.poll(() => shown()).toHaveLength(6)
    expect(cluster.asked.filter(({ isWatch, query }) => !isWatch && !query.has('limit'))).toHaveLength(1)
  })

  it.each([1, 7, 1_000])('understands what arrives in pieces of %i bytes', async (bytes) => {
    const { cluster, watch, put, shown } = await open()
    cluster.cutInto(bytes)
    watch()
    await isWatching(cluster)
    for (const app of ['web', 'db', 'cache']) put(app, ['wéb-🚀', 'b'])
    await expect.poll(() => shown()).toHaveLength(6)
    expect(await shown()).toContain('cache/wéb-🚀 PRESENT')
    // It was understood at once.
    expect(cluster.asked).toHaveLength(2)
  })

  it('takes half a line for nothing, and asks again', async () => {
    const { cluster, watch, put, shown } = await open()
    watch()
    await isWatching(cluster)
    cluster.send('{"type":"ADDED","object":{"metadata":{"resourceVersion":"999999","labels":{"emco/dep')
    cluster.end()
    put('web', ['a'])
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
  })

  it.each([
    ['no JSON', 'hello\n'],
    ['an event without an object', '{"type":"ADDED"}\n'],
    ['an error of the server', '{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd is tired"}}\n'],
    ['an event of an unknown type', '{"type":"TELEPORTED","object":{}}\n'],
    ['an object without an instance', '{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n'],
    ['an object that is odd', '{"type":"ADDED","object":{"metadata":7,"status":[null]}}\n'],
  ])('is not stopped by %s', async (_, line) => {
    const { cluster, watch, put, shown } = await open()
    watch()
    await isWatching(cluster)
    cluster.send(line)
    put('web', ['a'])
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
  })

  it('shows what can be read of a custom resource, and says what cannot', async () => {
    const { cluster, context, logged, watch, shown } = await open()
    const status = { ...showing('a'), resourceStatuses: [{ kind: 'Route', res: '%%%' }] }
    cluster.put('web', `${context}-web`, status)
    watch()
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
    await expect.poll(() => logged.map(({ msg }) => msg)).toContain('some of its entries cannot be read')
  })

  it('does not take an app away while another custom resource shows it', async () => {
    const { cluster, context, watch, put, remove, shown } = await open()
    put('web', ['a'])
    cluster.put('again', `${context}-web`, showing('a'))
    watch()
    await isWatching(cluster)
    remove('web')
    put('db', ['c'])
    await expect.poll(() => shown()).toEqual(['web/a PRESENT', 'db/c PRESENT'])
  })

  it('leaves nothing of an app whose custom resource is now that of another', async () => {
    const { cluster, context, watch, shown } = await open()
    cluster.put('one', `${context}-web`, showing('a'))
    watch()
    await isWatching(cluster)
    cluster.put('one', `${context}-shop`, showing('a'))
    await expect.poll(() => shown()).toEqual(['shop/a PRESENT'])
  })

  it('covers the instance before an update and the one after it', async () => {
    const { watch, put, act, shown } = await open()
    const after = newContext()
    await act([`UPDATED ${after}`, `INSTANTIATED ${after}`])
    put('web', ['a'])
    watch()
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
    expect(await shown(after)).toEqual(['web/a PRESENT'])
  })
})
