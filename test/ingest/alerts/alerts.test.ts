import { describe, expect, it } from 'vitest'
import { createAlertEvaluation } from '../../../src/ingest/alerts/evaluation.ts'
import type { Command } from '../../../src/ingest/command.ts'
import { acknowledgeAlert } from '../../../src/ingest/commands/alerts.ts'
import { alertsByKey } from '../../../src/store/alerts/alerts.ts'
import { pruneHistory } from '../../../src/store/write/retention.ts'
import { stores } from '../../support/databases/stores.ts'
import { openFreshAlertFleet } from './harness.ts'

describe.each(stores)('alerts on $name', (store) => {
  it('raises an alert for the fleet when the threshold is reached, and resolves it below the resolve threshold', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('many failed', { threshold: 2, resolveThreshold: 1 })
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    expect(await fleet.story()).toEqual([])
    await fleet.send('b', 'app', 'FAILED')
    await fleet.tick()
    await fleet.send('a', 'app', 'INSTALLED')
    await fleet.tick()
    expect(await fleet.story()).toEqual(['many failed fleet RAISED 2'])
    await fleet.send('b', 'app', 'INSTALLED')
    await fleet.tick()
    await fleet.tick()
    expect(await fleet.story()).toEqual(['many failed fleet RAISED 2', 'many failed fleet RESOLVED 0'])
  })

  it('raises one alert for each rollout', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.send('a', 'old', 'FAILED')
    await fleet.rule('failed', { perRollout: true })
    await fleet.tick()
    await fleet.send('a', 'new', 'FAILED')
    await fleet.send('b', 'fine', 'INSTALLED')
    await fleet.tick()
    await fleet.send('a', 'old', 'INSTALLED')
    await fleet.tick()
    expect(await fleet.story()).toEqual(['failed old RAISED 1', 'failed new RAISED 1', 'failed old RESOLVED 0'])
  })

  it('waits for the time of `for`, and forgets a breach that ends before', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('failed', { forSeconds: 60 })
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    fleet.pass(30)
    await fleet.send('a', 'app', 'INSTALLED')
    await fleet.tick()
    fleet.pass(40)
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    fleet.pass(50)
    await fleet.tick()
    expect(await fleet.story()).toEqual([])
    fleet.pass(11)
    await fleet.tick()
    expect(await fleet.story()).toEqual(['failed fleet RAISED 1'])
  })

  it('waits for the time of `for` from the beginning when the clock of the database goes back', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('failed', { forSeconds: 60 })
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    fleet.pass(-3_600)
    await fleet.tick()
    fleet.pass(50)
    await fleet.tick()
    expect(await fleet.story()).toEqual([])
    fleet.pass(11)
    await fleet.tick()
    expect(await fleet.story()).toEqual(['failed fleet RAISED 1'])
  })

  it('raises an alert when nothing progresses, without a change of the log', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('stuck', { metric: 'NO_PROGRESS', threshold: 600, perRollout: true })
    await fleet.send('a', 'app', 'INSTALLING')
    await fleet.tick()
    fleet.pass(300)
    await fleet.send('b', 'app', 'INSTALLING')
    await fleet.tick()
    fleet.pass(400)
    await fleet.tick()
    expect(await fleet.story()).toEqual([])
    fleet.pass(200)
    await fleet.tick()
    expect(await fleet.story()).toEqual(['stuck app RAISED 600'])
    await fleet.send('a', 'app', 'INSTALLED')
    await fleet.tick()
    expect((await fleet.story()).at(-1)).toBe('stuck app RESOLVED 0')
  })

  it('looks at all rollouts for new rules of one selector together', async () => {
    const fleet = await openFreshAlertFleet(store)
    const { database, road } = fleet
    let statements = 0
    const counting = <Call extends (...given: never[]) => unknown>(call: Call) =>
      ((...given) => {
        statements += 1
        return call(...given)
      }) as Call
    const { session } = database
    const counted = { ...session, run: counting(session.run), rows: counting(session.rows) } as typeof session
    const duty = createAlertEvaluation({ session: counted, kind: database.kind }, road.writer)
    const turn = { now: fleet.now(), listeningSince: 0, isOver: () => false }
    // Rollout `r-3` has three failed deployments.
    for (let failed = 0; failed < 4; failed += 1)
      for (let n = 0; n < 4; n += 1)
        await fleet.send(`d-${n}`, `r-${failed}`, n < failed ? 'FAILED' : n === 3 ? 'INSTALLING' : 'INSTALLED')
    await duty.run(turn)
    const kinds = [
      ['failed', {}, {}],
      ['rate', { metric: 'SUCCESS_RATE' }, {}],
      ['still', { metric: 'NO_PROGRESS' }, {}],
      ['late', { metric: 'TIME_LEFT' }, {}],
      ['ours', {}, { deviceIds: ['d-0', 'd-3'] }],
    ] as const
    for (const [name, rule, filter] of kinds)
      for (let n = 1; n <= 20; n += 1)
        await fleet.rule(
          `${name} ${n}`,
          { ...rule, threshold: name === 'still' ? 600 + n : n, perRollout: true },
          filter,
        )
    statements = 0
    while (!(await duty.run(turn)));
    // Each rule alone would take five and more.
    expect(statements).toBeLessThan(100)
    const sorted = (list: readonly string[]) => list.toSorted()
    expect(sorted(await fleet.story())).toEqual(
      sorted([
        ...[1, 2, 3].flatMap((failed) =>
          Array.from({ length: failed }, (_, n) => `failed ${n + 1} r-${failed} RAISED ${failed}`),
        ),
        ...Array.from({ length: 20 }, (_, n) => `rate ${n + 1} r-3 RAISED 0`),
        ...[1, 2, 3].map((failed) => `ours 1 r-${failed} RAISED 1`),
      ]),
    )
    const checks = await session.run(
      `select r.rule->>'metric' as metric, count(*)::int as n from alert_checks c join alert_rules r on r.key = c.rule_key
       where swept_to is null group by 1 order by 1`,
    )
    expect(checks).toEqual([
      { metric: 'NO_PROGRESS', n: 80 },
      { metric: 'TIME_LEFT', n: 80 },
    ])
    expect(await session.run('select 1 from alert_checks where swept_to is not null')).toEqual([])
  })

  it.each([
    ['is not a whole number of seconds', 600.5, 600.7],
    ['is beyond all times', 1e308, 1_000_000],
  ])('is evaluated in time if its threshold %s', async (_, threshold, passed) => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('stuck', { metric: 'NO_PROGRESS', threshold })
    await fleet.rule('any', { metric: 'NO_PROGRESS', threshold: 600 })
    await fleet.send('a', 'app', 'INSTALLING')
    await fleet.tick()
    fleet.pass(passed)
    await fleet.tick()
    expect(await fleet.story()).toEqual([expect.stringMatching(/^any fleet RAISED/)])
    fleet.pass(1)
    await fleet.tick()
    expect(await fleet.story()).toHaveLength(threshold < passed ? 2 : 1)
  })

  it('compares percentages and the success rate with enough deployments only', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('share', { unit: 'PERCENT', threshold: 50, minimum: 3 })
    await fleet.rule('success', { metric: 'SUCCESS_RATE', threshold: 70, resolveThreshold: 80, minimum: 2 })
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    expect(await fleet.story()).toEqual([])
    await fleet.send('b', 'app', 'INSTALLED')
    await fleet.tick()
    await fleet.send('c', 'app', 'FAILED')
    await fleet.tick()
    await fleet.send('a', 'app', 'INSTALLED')
    await fleet.send('c', 'app', 'INSTALLED')
    await fleet.tick()
    const story = (await fleet.story()).map((line) => line.replace(/(\.\d)\d+/, '$1'))
    expect(story).toEqual([
      'success fleet RAISED 50',
      'share fleet RAISED 66.6',
      'share fleet RESOLVED 0',
      'success fleet RESOLVED 100',
    ])
  })

  it('counts what a filter selects', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('ours', { perRollout: true, threshold: 2 }, { deviceIds: ['a', 'b'] })
    await fleet.rule('all ours', { threshold: 3 }, { deviceIds: ['a', 'b'] })
    await fleet.send('a', 'app', 'FAILED')
    await fleet.send('c', 'app', 'FAILED')
    await fleet.tick()
    expect(await fleet.story()).toEqual([])
    await fleet.send('b', 'app', 'FAILED')
    await fleet.send('b', 'other', 'FAILED')
    await fleet.tick()
    await fleet.send('b', 'app', 'INSTALLED')
    await fleet.tick()
    expect((await fleet.story()).toSorted()).toEqual([
      'all ours fleet RAISED 3',
      'all ours fleet RESOLVED 2',
      'ours app RAISED 2',
      'ours app RESOLVED 1',
    ])
  })

  it('counts deployments on devices that are offline', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('offline', { metric: 'OFFLINE', perRollout: true })
    await fleet.send('a', 'app', 'INSTALLED')
    await fleet.tick()
    await fleet.database.session.run(`update targets set connectivity = 'OFFLINE' where name = 'a'`)
    await fleet.send('b', 'app', 'INSTALLED')
    await fleet.tick()
    expect(await fleet.story()).toEqual(['offline app RAISED 1'])
  })

  it('resolves the alerts of a rule that is changed or deleted', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('failed', {})
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    await fleet.rule('failed', {})
    await fleet.rule('failed', { severity: 'CRITICAL' })
    await fleet.tick()
    await fleet.deleteRule('failed')
    await fleet.send('b', 'app', 'FAILED')
    await fleet.tick()
    expect(await fleet.story()).toEqual([
      'failed fleet RAISED 1',
      'failed fleet RESOLVED null RULE_CHANGED',
      'failed fleet RAISED 1',
      'failed fleet RESOLVED null RULE_DELETED',
    ])
  })

  it('ignores a replica that decides late on values that another has evaluated again', async () => {
    const fleet = await openFreshAlertFleet(store)
    const { database, road } = fleet
    await fleet.rule('failed', {})
    const turn = { now: Date.now(), listeningSince: 0, isOver: () => false }
    const other = createAlertEvaluation(database, road.writer)
    await other.run(turn)
    await fleet.send('a', 'app', 'FAILED')
    const { promise: resumed, resolve: resume } = Promise.withResolvers<void>()
    const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
    const submit = async <R>(command: Command<R>): Promise<R> => {
      decide()
      await resumed
      return road.writer.submit(command)
    }
    const late = createAlertEvaluation(database, { submit }).run(turn)
    await decided
    await fleet.send('a', 'app', 'INSTALLED')
    await other.run(turn)
    resume()
    await late
    await other.run(turn)
    expect(await fleet.story()).toEqual([])
  })

  it('keeps the first acknowledgement of an alert', async () => {
    const fleet = await openFreshAlertFleet(store)
    await fleet.rule('failed', {})
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    const [raised] = await fleet.alertChanges()
    const acknowledge = (by: string) => fleet.road.writer.submit(acknowledgeAlert(raised?.alertKey ?? 0, by, 'looking'))
    await acknowledge('ann')
    await acknowledge('ann')
    await expect(acknowledge('bob')).rejects.toThrow('ann has acknowledged this alert')
    expect(await fleet.story()).toEqual(['failed fleet RAISED 1', 'failed fleet ACKNOWLEDGED'])
  })

  it('keeps a resolved alert until the log has none of its changes', async () => {
    const time = { now: Date.now() }
    const fleet = await openFreshAlertFleet(store, time)
    await fleet.rule('failed', {})
    await fleet.send('a', 'app', 'FAILED')
    await fleet.tick()
    const [raised] = await fleet.alertChanges()
    const key = raised?.alertKey ?? 0
    await fleet.deleteRule('failed')
    fleet.pass(3_600)
    const between = time.now - 1_000
    await fleet.road.writer.submit(acknowledgeAlert(key, 'ann', 'it was the disk'))
    const kept = async () => (await alertsByKey(fleet.database.session, [key], null)).size
    await pruneHistory(fleet.database, between, 1_000)
    expect(await fleet.story()).toEqual(['failed fleet ACKNOWLEDGED'])
    expect(await kept()).toBe(1)
    await pruneHistory(fleet.database, time.now + 1_000, 1_000)
    expect(await kept()).toBe(0)
  })
})
