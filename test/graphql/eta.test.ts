/** `rollout { eta }`: the method is in test/domain/insight; this is what it reads, now, in the past, and for whom. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { stepsOf } from '../../src/store/read/insight/progress.ts'
import { stores } from '../support/stores.ts'
import { type Api, startApi } from './harness.ts'
import { namedAuth } from './principals.ts'

const fields = 'at low high percent basis reason from'
const begin = Date.parse('2040-03-01T00:00:00Z')
const size = 30

describe.each(stores)('a forecast on $name', (store) => {
  let api: Api
  let now = begin

  const etaOf = async (name: string, field = 'eta', past = '', as?: string) => {
    const { rollout } = await api.ask(
      `{ rollout(key: {name: "${name}"}${past}) { answer: ${field} { ${fields} } } }`,
      {},
      as,
    )
    return rollout.answer
  }
  const declare = (name: string) =>
    api.road.writer.submit(
      declareDeployments(
        { name, project: null } as never,
        Array.from({ length: size }, (_, index) => ({
          deviceId: `edge-${index}`,
          deploymentId: `${name}-${index}`,
          application: 'pump',
          applicationVersion: '1',
          components: null,
        })),
      ),
    )
  const report = (name: string, index: number, state: 'INSTALLING' | 'INSTALLED' | 'FAILED') =>
    api.report({ reporter: `edge-${index}`, deploymentId: `${name}-${index}`, state, components: [] })

  /** Every second one starts; each takes 10 s. */
  async function play(name: string, from: number, to: number): Promise<void> {
    for (let second = from; second < to; second += 1) {
      now += 1_000
      if (second < size) await report(name, second, 'INSTALLING')
      if (second >= 10) await report(name, second - 10, second % 5 === 0 ? 'FAILED' : 'INSTALLED')
    }
  }

  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth }, road: { writer: { clock: () => now } } })
    await declare('first')
  })
  afterAll(() => api.close())

  it('has the reason where there is too little, and then a time that fits', async () => {
    expect(await etaOf('first')).toEqual({
      ...{ at: null, low: null, high: null, percent: 100, basis: null, reason: 'NOT_STARTED' },
      from: new Date(now).toISOString(),
    })
    await play('first', 0, 25)
    const halfway = (await api.ask('{ revision }')).revision
    const eta = await etaOf('first')
    expect(eta).toMatchObject({ percent: 100, basis: 'OWN', reason: null, from: new Date(now).toISOString() })
    const most = await etaOf('first', 'timeTo(percent: 80)')
    expect(Date.parse(most.low)).toBeLessThanOrEqual(Date.parse(most.at))
    expect(most.at <= eta.at && eta.low <= eta.at && eta.at <= eta.high).toBe(true)
    expect(await etaOf('first', 'timeTo(percent: 50)')).toMatchObject({ reason: 'DONE' })
    // 80 % are done 9 s later.
    const truth = now + 9_000
    expect([Date.parse(most.low) <= truth, truth <= Date.parse(most.high)]).toEqual([true, true])
    await play('first', 25, 40)
    expect(await etaOf('first')).toMatchObject({ reason: 'DONE' })
    expect(await etaOf('first', 'eta', `, atRevision: "${halfway}"`)).toEqual(eta)
  })

  it('follows from earlier rollouts of the application where its own steps are too few', async () => {
    await declare('second')
    await play('second', 0, 3)
    expect(await etaOf('second')).toMatchObject({ basis: 'PEERS', reason: null })
  })

  it('reads the steps as they were', async () => {
    const { session } = api.road.database
    const [row] = await session.run<{ key: number }>("select key from rollouts where name = 'first'")
    const steps = (await stepsOf(session, [row?.key ?? 0], null)).get(row?.key ?? 0)
    const ended = (list: readonly { n: number; isOpen: boolean }[] = []) =>
      list.reduce((sum, { n, isOpen }) => sum + (isOpen ? 0 : n), 0)
    expect([ended(steps?.own.waits), ended(steps?.own.runs)]).toEqual([size, size])
    expect(steps?.own.runs.map(({ millis }) => millis)).toEqual([10_000])
    expect(steps?.starts).toHaveLength(size)
    expect((await stepsOf(session, [row?.key ?? 0], null, 10)).get(row?.key ?? 0)).toMatchObject({
      isTooLarge: true,
      own: { waits: [], runs: [] },
    })
  })

  it('is hidden from a caller that sees a part of the rollout, and refuses other percentages', async () => {
    const answer = await api.query(
      `{ rollout(key: {name: "first"}) { eta { reason at } } }`,
      {},
      'viewer/label:site=bonn',
    )
    expect(answer.data.rollout?.eta ?? { reason: 'HIDDEN', at: null }).toEqual({ reason: 'HIDDEN', at: null })
    const { errors } = await api.query('{ rollout(key: {name: "first"}) { timeTo(percent: 0) { at } } }')
    expect(errors?.[0]?.message).toBe('percent must be above 0 and at most 100, but is 0')
  })
})
