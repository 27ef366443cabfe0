/** Whatever happens to a cluster, to us who watch it, or to our own database: in the end what the cluster has is what is shown. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../src/domain/errors.ts'
import { stores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { newContext } from '../support/systems/emco.ts'
import { isWatching, useWatched, waitingIn } from './harness.ts'

const { open, close } = useWatched()

describe('whatever happens', () => {
  const app = fc.constantFrom('web', 'db', 'cache')
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), app, names: fc.subarray(['a', 'b', 'c']) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), app }) },
    fc.record({ do: fc.constantFrom('end', 'drop', 'bookmark', 'refuse', 'accept', 'restart', 'settle', 'know') }),
    fc.record({ do: fc.constant('compact' as const), told: fc.constantFrom('stream', 'status') }),
    fc.record({ do: fc.constant('cut' as const), bytes: fc.constantFrom(null, 1, 50) }),
    fc.record({ do: fc.constant('expire' as const) }),
  )

  it('what the cluster has is in the end what is shown', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { cluster, context, watch, put, remove, instantiate, shown, told, connectivity } = await open()
      const unknown = newContext()
      const there = new Map<string, readonly string[]>()
      const start = () => watch({ server: { pageSize: 1, timeout: 1_000 } })
      let clusters = start()
      let isKnown = false
      const know = async () => {
        if (!isKnown) await instantiate(unknown)
        isKnown = true
      }
      const settled = async () => {
        const present = [...there].flatMap(([name, names]) => names.map((one) => `${name}/${one} PRESENT`))
        await expect.poll(async () => (await shown()).toSorted()).toEqual(present.toSorted())
      }
      for (const one of steps) {
        switch (one.do) {
          case 'put':
            there.set(one.app, one.names)
            put(one.app, one.names)
            put(one.app, one.names, unknown)
            break
          case 'remove':
            if (!there.delete(one.app)) break
            remove(one.app)
            remove(one.app, unknown)
            break
          case 'refuse':
            cluster.refuse(503)
            cluster.drop()
            break
          case 'compact':
            cluster.compact(one.told)
            cluster.drop()
            break
          case 'cut':
            cluster.cutInto(one.bytes)
            break
          case 'expire':
            cluster.expirePages(1)
            break
          case 'restart':
            await clusters.stop()
            clusters = start()
            break
          case 'settle':
            cluster.accept()
            await settled()
            break
          case 'know':
            await know()
            break
          default:
            cluster[one.do]()
        }
      }
      cluster.accept()
      await settled()
      await know()
      await expect.poll(async () => (await shown(unknown)).toSorted()).toEqual((await shown(context)).toSorted())
      await expect.poll(connectivity).toBe('ONLINE')
      expect(waitingIn(clusters)).toBe(0)
      // Nothing is announced as gone that was not there before, and nothing twice.
      const balance = await told()
      const count = (what: string) => balance.filter((line) => line.endsWith(` ${what}`)).length
      expect(count('NOT_PRESENT')).toBeLessThanOrEqual(count('PRESENT'))
      await close()
    })
    await fc.assert(property, { numRuns: someOf(8, 25) })
  })
})

describe('several replicas', () => {
  it.each(stores)('watch a cluster one at a time, on $name', async (store) => {
    const { road, cluster, context, watch, put, shown } = await open(store)
    const replicas = [watch(), watch()] as const
    await isWatching(cluster)
    const holder = replicas.find((one) => one.states().length > 0)
    const other = replicas.find((one) => one !== holder)
    if (!holder || !other) throw new Error('no server, or every server, holds the cluster')
    // The lease has been renewed for longer than one lasts: the other one had every opportunity.
    const until = async () => {
      const [row] = await road.database.session.run<{ until: number }>(
        'select max(until) as until from leases where name like $1',
        [`cluster:%${context}`],
      )
      return row?.until ?? 0
    }
    const begin = await until()
    await expect.poll(until).toBeGreaterThan(begin + 6 * 50)
    expect(other.states()).toEqual([])
    expect(cluster.watching).toBe(1)
    put('web', ['a'])
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
    await holder.stop()
    put('web', ['b'])
    await expect.poll(() => shown()).toEqual(['web/b PRESENT'])
    expect(other.states()).toHaveLength(1)
  })

  it('let go of a cluster that another one has got meanwhile', async () => {
    const { road, cluster, context, watch } = await open()
    const frozen = watch()
    await isWatching(cluster)
    // The other one renews it.
    const renew = () =>
      road.database.session.run(
        `update leases set holder = 'another', until = now() + interval '100 ms' where name like $1`,
        [`cluster:%${context}`],
      )
    const held = async <T>(what: () => T): Promise<T> => {
      await renew()
      return what()
    }
    await expect.poll(() => held(frozen.states)).toEqual([])
    await expect.poll(() => held(() => cluster.watching)).toBe(0)
  })

  it('take over from one that has died, and the dead one falls silent', async () => {
    const { road, cluster, watch, put, shown } = await open()
    let isDead = false
    const session = {
      ...road.database.session,
      run: async (...args: Parameters<typeof road.database.session.run>) => {
        if (isDead && args[0].includes('leases')) throw new Error('it cannot be reached')
        return road.database.session.run(...args)
      },
    }
    const database = new Proxy(road.database, {
      get: (target, name) => (name === 'session' ? session : Reflect.get(target, name)),
    })
    const first = watch({ database: database as typeof road.database })
    await isWatching(cluster)
    const second = watch()
    isDead = true
    await expect.poll(() => second.states()).toHaveLength(1)
    expect(first.states()).toEqual([])
    await isWatching(cluster)
    put('web', ['a'])
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
  })
})

describe('while our own database is away', () => {
  it('nothing is lost, and the cluster is not blamed', async () => {
    const { road, cluster, watch, put, shown, connections, told } = await open()
    let isAway = false
    const writer = new Proxy(road.writer, {
      get(target, name) {
        if (name !== 'submit') return Reflect.get(target, name)
        return (command: Parameters<typeof target.submit>[0]) =>
          isAway ? Promise.reject(new DomainError('UNAVAILABLE', 'the database is away')) : target.submit(command)
      },
    })
    watch({ writer })
    await isWatching(cluster)
    isAway = true
    put('web', ['a'])
    const lists = () => cluster.asked.filter(({ isWatch }) => !isWatch).length
    await expect.poll(lists).toBeGreaterThan(2)
    isAway = false
    await expect.poll(() => shown()).toEqual(['web/a PRESENT'])
    expect(await told()).toEqual(['web PRESENT'])
    expect(await connections()).toEqual(['ONLINE'])
  })
})
