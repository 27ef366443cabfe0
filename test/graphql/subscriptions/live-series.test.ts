import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentStates } from '../../../src/domain/values.ts'
import { pickerOf } from '../../store/read/history.ts'
import { stores } from '../../support/databases/stores.ts'
import { type Stream, transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'

const point =
  'at counts { total pending installing installed failed convergence { unknown } } changes { installed failed }'

interface Point {
  readonly at: string
}

const inOrder = (points: ReadonlyMap<string, Point>): Point[] =>
  [...points.values()].toSorted((a, b) => a.at.localeCompare(b.at))

describe.each(stores)('a live series on $name', (store) => {
  let api: Api
  let clock = Date.now() + 3_600_000
  const open: Stream[] = []

  beforeAll(async () => {
    api = await startApi({ store, road: { writer: { clock: () => clock } } })
    await api.report({ deploymentId: 'before', state: 'INSTALLED' })
  })
  afterAll(async () => {
    await Promise.all(open.map((stream) => stream.close()))
    await api.close()
  })

  /** The points up to the first one that is not before a time. */
  async function seriesTo(args: string, begin: number, time: number): Promise<readonly Point[]> {
    const to = new Date(begin + Math.ceil((time - begin) / 7_000) * 7_000).toISOString()
    const { deploymentCountsOverTime } = await api.ask(
      `{ deploymentCountsOverTime(${args}, to: "${to}") { ${point} } }`,
    )
    return deploymentCountsOverTime
  }

  it('has, once a moment is over, what the series has there', async () => {
    const from = new Date(clock).toISOString()
    const begin = clock
    const filters = ['', ', filter: { states: [INSTALLED, FAILED] }', ', filter: { deviceIds: ["edge-1"] }']
    const lists = filters.map((filter, index) => {
      const args = `from: "${from}", step: 7${filter}`
      const query = `subscription { deploymentCountsOverTime(${args}) { cursor points { ${point} } } }`
      const stream = (transports[index % transports.length] ?? expect.unreachable()).watch(api.url, query)
      open.push(stream)
      const points = new Map<string, Point>()
      const following = (async () => {
        for (;;) for (const one of (await stream.data()).deploymentCountsOverTime.points) points.set(one.at, one)
      })()
      const isOfDevice = filter.includes('deviceIds')
      return { args, isOfDevice, stream, points, ended: following.catch((error: unknown) => error) }
    })
    for (const { points } of lists) await expect.poll(() => points.size).toBe(1)
    const pick = pickerOf(11)
    for (let count = 0; count < 30; count += 1) {
      // Within a step, at its end, and several later.
      clock += pick.one([0, 1_000, 3_000, 7_000, 25_000])
      await api.report({
        deploymentId: `d-${pick.number(3)}`,
        reporter: `edge-${pick.number(2)}`,
        state: pick.one(deploymentStates),
      })
    }
    // The last change is one of the device: each stream has all points.
    await api.report({ deploymentId: 'd-0', reporter: 'edge-1', state: 'INSTALLED' })
    for (const { args, points } of lists) {
      const expected = await seriesTo(args, begin, clock)
      expect(expected.length).toBeGreaterThan(10)
      await expect.poll(() => inOrder(points)).toEqual(expected)
    }
    // A stream of one device is not told of the others, so it lacks the points after its last change. They have the same counts.
    clock += 25_000
    await api.report({ deploymentId: 'd-0', reporter: 'edge-0', state: 'INSTALLED' })
    for (const { args, isOfDevice, stream, points, ended } of lists) {
      const expected = await seriesTo(args, begin, clock)
      if (!isOfDevice) await expect.poll(() => inOrder(points)).toEqual(expected)
      else expect(expected).toEqual(expected.map(({ at }) => points.get(at) ?? { ...inOrder(points).at(-1), at }))
      await stream.close()
      expect(await ended).toMatchObject({ message: 'the stream is complete' })
    }
  })

  it.each([
    ['1970-01-01T00:00:00Z', 100_000_000, 'HISTORY_EXPIRED'],
    ['2020-01-01T00:00:00Z', 1, 'BAD_USER_INPUT'],
    ['2020-01-01T00:00:00Z', 0, 'BAD_USER_INPUT'],
  ])('is refused from %s with a step of %s s: %s', async (from, step, code) => {
    const stream = transports[0]?.watch(
      api.url,
      `subscription { deploymentCountsOverTime(from: "${from}", step: ${step}) { cursor } }`,
    )
    if (stream) open.push(stream)
    const errors = await stream?.next().then(
      (answer) => answer?.errors,
      (error: unknown) => error,
    )
    expect(errors).toMatchObject([{ extensions: { code } }])
  })
})
