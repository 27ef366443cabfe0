/** `rollout { eta }`: the method is in test/domain/insight; this is what it reads, now, in the past, and for whom. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { outcomesOf } from '../../../src/store/read/insight/outcomes.ts'
import { stepsOf } from '../../../src/store/read/insight/progress.ts'
import { stores } from '../../support/databases/stores.ts'
import { expectForecasts } from '../../support/forecasts.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const fields = 'at low high percent basis reason from'
const begin = Date.parse('2040-03-01T00:00:00Z')
const size = 30

describe.each(stores)('a forecast on $name', (store) => {
  let api: Api
  let now = begin
  let halfway = ''

  const etaOf = async (name: string, field = 'eta', past = '', as?: string) => {
    const { rollout } = await api.ask(
      `{ rollout(key: {name: "${name}"}${past}) { answer: ${field} { ${fields} } } }`,
      {},
      as,
    )
    return rollout.answer
  }
  /** `ofs`: those of the rollout `from`, which it gets. */
  const declare = (name: string, from = name, ofs = Array.from({ length: size }, (_, index) => index)) =>
    api.road.writer.submit(
      declareDeployments(
        { name, project: null } as never,
        ofs.map((index) => ({
          deviceId: `edge-${index}`,
          deploymentId: `${from}-${index}`,
          application: 'pump',
          applicationVersion: '1',
          components: null,
        })),
      ),
    )
  const report = (name: string, index: number, state: 'INSTALLING' | 'INSTALLED' | 'FAILED') => {
    const error = state === 'FAILED' ? { code: 'E7', message: 'disk full' } : null
    const components = [{ name: 'web', state, error }]
    return api.report({ reporter: `edge-${index}`, deploymentId: `${name}-${index}`, state, components })
  }

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
    halfway = (await api.ask('{ revision }')).revision
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

  it('stands beside the pace, which counts from the creation of the rollout at the earliest', async () => {
    const paceSince = async (since: number, past = '') => {
      const time = new Date(since).toISOString()
      const { rollout } = await api.ask(
        `{ rollout(key: {name: "first"}${past}) { pace(since: "${time}") { done since } } }`,
      )
      return [rollout.pace.done, Date.parse(rollout.pace.since) - begin]
    }
    const then = `, atRevision: "${halfway}"`
    expect(await paceSince(begin + 20_000, then)).toEqual([5, 20_000])
    expect(await paceSince(begin - 60_000, then)).toEqual([15, 0])
    expect(await paceSince(begin + 30_000, then)).toEqual([0, 30_000])
    expect(await paceSince(begin + 30_000)).toEqual([10, 30_000])
    expect(await paceSince(now + 1_000)).toEqual([0, now + 1_000 - begin])
  })

  it('depends on its revision alone, also where reports have changed nothing since', async () => {
    const { revision } = await api.ask('{ revision }')
    const answers = async () => [
      await etaOf('first', 'timeTo(percent: 100)'),
      await etaOf('first', 'eta', `, atRevision: "${revision}"`),
    ]
    const before = await answers()
    now += 60_000
    await report('first', 1, 'INSTALLED')
    expect(await api.ask('{ revision }')).toEqual({ revision })
    expect([...(await answers()), ...before]).toEqual(Array(4).fill(before[0]))
  })

  it('follows from earlier rollouts of the application where its own steps are too few', async () => {
    await declare('second')
    await play('second', 0, 3)
    expect(await etaOf('second')).toMatchObject({ basis: 'PEERS', reason: null })
    expect(await expectForecasts(api.road.database, (query) => api.ask(query))).toBeGreaterThan(2)
  })

  it('reads the steps as they were', async () => {
    const { session: own, kind } = api.road.database
    const session = { ...own, kind }
    const [row] = await session.run<{ key: number }>("select key from rollouts where name = 'first'")
    const steps = (await stepsOf(session, [row?.key ?? 0], null)).get(row?.key ?? 0)
    const ended = (list: readonly { n: number; isOpen: boolean }[] = []) =>
      list.reduce((sum, { n, isOpen }) => sum + (isOpen ? 0 : n), 0)
    expect([ended(steps?.own.waits), ended(steps?.own.runs)]).toEqual([size, size])
    expect(steps?.own.runs.map(({ millis }) => millis)).toEqual([10_000])
    expect(steps?.starts).toHaveLength(size)
    const refused = await outcomesOf(session, [row?.key ?? 0], 'ROLLOUT', null, 10)
    expect(refused.get(row?.key ?? 0)?.groups).toBeNull()
    expect((await stepsOf(session, [row?.key ?? 0], null, 10)).get(row?.key ?? 0)).toMatchObject({
      isTooLarge: true,
      own: { waits: [], runs: [] },
    })
  })

  it('stands beside the outcomes of the steps, by version, component and error, now and then', async () => {
    const steps = 'steps { from to count p50 p90 p95 max }'
    const group = `key detail installed failed successRate meanAttempts maxAttempts ${steps}`
    const ask = (by: string, past = '') =>
      api.ask(
        `{ rollout(key: {name: "first"}${past}) { outcomes(by: ${by}) { since groupCount groups { ${group} } } } }`,
      )
    const step = (from: string, to: string, count: number, time: number) => ({
      ...{ from, to, count, p50: time, p90: time, p95: time, max: time },
    })
    const waited = { from: 'PENDING', to: 'INSTALLING', count: size, p50: 15, p90: 27, p95: 29, max: 30 }
    const ended = [step('INSTALLING', 'INSTALLED', 24, 10), step('INSTALLING', 'FAILED', 6, 10)]
    const whole = {
      installed: 24,
      failed: 6,
      successRate: 80,
      meanAttempts: 1,
      maxAttempts: 1,
      steps: [waited, ...ended],
    }
    const { rollout } = await ask('ROLLOUT')
    expect(rollout.outcomes).toMatchObject({ groupCount: 1, groups: [{ key: null, detail: null, ...whole }] })
    expect((await ask('APPLICATION_VERSION')).rollout.outcomes.groups).toEqual([{ key: '1', detail: 'pump', ...whole }])
    expect((await ask('ERROR')).rollout.outcomes.groups).toMatchObject([
      { key: 'E7', installed: 0, failed: 6, successRate: 0, steps: [ended[1]] },
    ])
    expect((await ask('COMPONENT')).rollout.outcomes.groups).toMatchObject([
      { key: 'web', installed: 24, failed: 6, meanAttempts: null, steps: ended },
    ])
    const then = await ask('ROLLOUT', `, atRevision: "${halfway}"`)
    expect(then.rollout.outcomes.groups).toMatchObject([{ installed: 12, failed: 3 }])
  })

  it('stands beside a comparison of rollouts, each from its own start', async () => {
    const { rollouts } = await api.ask('{ rollouts(first: 5) { nodes { id name } } }')
    const idOf = (name: string) => rollouts.nodes.find((one: { name: string }) => one.name === name)?.id
    const ask = (names: readonly string[]) =>
      api.query(
        `query ($ids: [ID!]!) { compareRollouts(ids: $ids) { age isWorse pValue summary
          rollouts { rollout { name } startedAt points { seconds counts { total installed failed } } } } }`,
        { ids: names.map(idOf) },
      )
    const { data } = await ask(['second', 'first'])
    expect(data.compareRollouts).toMatchObject({
      age: 2,
      isWorse: false,
      pValue: 1,
      summary: 'second is not worse than first 2 s after the start: 0 of 30 deployments failed, there 0 of 30.',
    })
    const [young, old] = data.compareRollouts.rollouts
    expect([young.rollout.name, old.rollout.name]).toEqual(['second', 'first'])
    expect(old.points).toHaveLength(30)
    expect(old.points.at(-1).counts).toEqual({ total: 30, installed: 24, failed: 6 })
    expect(young.points.map(({ seconds }: { seconds: number }) => seconds)).toEqual(
      old.points.map(({ seconds }: { seconds: number }) => seconds).slice(0, young.points.length),
    )
    await declare('third')
    const of = (await api.query('{ rollout(key: {name: "third"}) { id } }')).data.rollout.id
    rollouts.nodes.push({ id: of, name: 'third' })
    expect((await ask(['third', 'first'])).errors?.[0]?.message).toContain(
      'ids names third: this rollout has not started',
    )
    for (let index = 0; index < size; index += 1) await report('third', index, 'FAILED')
    const worse = (await ask(['third', 'first'])).data.compareRollouts
    expect(worse.isWorse).toBe(true)
    expect(worse.summary).toBe(
      'third is worse than first 0 s after the start: 30 of 30 deployments failed, there 0 of 30.',
    )
    now += (2 * 60 + 5) * 60_000
    await report('third', 0, 'INSTALLED')
    const later = async (...names: string[]): Promise<string> => (await ask(names)).data.compareRollouts.summary
    expect(await later('first', 'third')).toBe(
      'first is not worse than third 2 h 5 min after the start: 6 of 30 deployments failed, there 29 of 30.',
    )
    expect(await later('first', 'second')).toMatch(
      /^first is not clearly worse than second 2 h \d+ min after the start: 6 of 30 deployments failed, there 0 of 30, which may be chance.$/,
    )
    expect((await ask(['first'])).errors?.[0]?.message).toBe('ids must name 2 to 5 rollouts, but names 1')
    expect((await ask(['third', 'first', 'third'])).errors?.[0]?.message).toBe(
      'ids must name different rollouts, but names third twice',
    )
    const earlier = '{ rollout(key: {name: "third"}) { earlier { name earlier { name } } } }'
    expect((await api.query(earlier)).data.rollout.earlier).toEqual([
      { name: 'second', earlier: [{ name: 'first' }] },
      { name: 'first', earlier: [] },
    ])
    const seen = (await api.query(earlier, {}, 'viewer/label:site=bonn')).data.rollout?.earlier ?? []
    expect(seen).toEqual([])
  })

  it('counts deployments in progress where they are, also after they have moved to another rollout', async () => {
    await declare('former')
    await play('former', 0, 25)
    // One has ended, one is in progress, and one has not started.
    await declare('latter', 'former', [3, 20, 28])
    const opens = async () => {
      const answer: unknown[] = []
      for (const name of ['former', 'latter']) {
        const [row] = await api.road.database.session.run<{ key: number }>('select key from rollouts where name = $1', [
          name,
        ])
        const { session, kind } = api.road.database
        const own = (await stepsOf({ ...session, kind }, [row?.key ?? 0], null)).get(row?.key ?? 0)?.own
        const open = (list: readonly { n: number; isOpen: boolean }[] = []) =>
          list.reduce((sum, { n, isOpen }) => sum + (isOpen ? n : 0), 0)
        answer.push([open(own?.waits), open(own?.runs)])
      }
      return answer
    }
    expect(await opens()).toEqual([
      [4, 9],
      [1, 1],
    ])
    expect(await etaOf('former')).toMatchObject({ reason: null, basis: 'OWN' })
    expect(await etaOf('latter')).toMatchObject({ reason: null, basis: 'PEERS' })
    await play('former', 25, 40)
    expect(await opens()).toEqual([
      [0, 0],
      [0, 0],
    ])
    for (const name of ['former', 'latter']) expect(await etaOf(name)).toMatchObject({ reason: 'DONE' })
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
