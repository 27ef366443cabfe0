/** Alert rules on the forecasts of rollouts. */
import { PgDialect } from 'drizzle-orm/pg-core'
import { describe, expect, it } from 'vitest'
import { createAlertEvaluation } from '../../../src/ingest/alerts/evaluation.ts'
import { stores } from '../../support/databases/stores.ts'
import { openFreshAlertFleet } from './harness.ts'

describe.each(stores)('alerts by forecasts on $name', (store) => {
  it('compares the forecasts of rollouts, once a minute and as time passes, and resolves at the end', async () => {
    const fleet = await openFreshAlertFleet(store)
    const devices = Array.from({ length: 16 }, (_, index) => `edge-${index}`)
    for (const device of devices) await fleet.send(device, 'app', 'INSTALLING')
    await fleet.rule('long', { metric: 'TIME_LEFT', threshold: 600, resolveThreshold: 300, perRollout: true })
    await fleet.rule('late', { metric: 'DELAY', deadline: fleet.now() + 120_000, threshold: 0, perRollout: true })
    await fleet.tick()
    expect(await fleet.story()).toEqual([])
    // Without a forecast: too few have ended.
    fleet.pass(121)
    await fleet.tick()
    expect(await fleet.story()).toEqual(['late app RAISED 1'])
    for (const device of devices.slice(0, 12)) await fleet.send(device, 'app', 'INSTALLED')
    await fleet.tick()
    expect(await fleet.story()).toHaveLength(1)
    // Four go on for ten times as long as the others took.
    for (let minute = 0; minute < 20; minute += 1) {
      fleet.pass(61)
      await fleet.tick()
    }
    const [, raised] = await fleet.alertChanges()
    expect(raised).toMatchObject({ kind: 'ALERT_RAISED', rule: 'long' })
    expect(raised?.kind === 'ALERT_RAISED' && raised.value).toBeGreaterThanOrEqual(600)
    for (const device of devices.slice(12)) await fleet.send(device, 'app', 'INSTALLED')
    await fleet.tick()
    expect((await fleet.story()).slice(2).toSorted()).toEqual(['late app RESOLVED null', 'long app RESOLVED null'])
    expect(await fleet.database.session.run('select * from alert_checks')).toEqual([])
  })

  it('forecasts no rollout that has ended, and a rollout at most once a minute', async () => {
    const fleet = await openFreshAlertFleet(store)
    const { database, road } = fleet
    const forecasts: string[] = []
    const session = {
      ...database.session,
      rows: (query: Parameters<typeof database.session.rows>[0]) => {
        const isForecast = new PgDialect().sqlToQuery(query).sql.includes('with members as materialized')
        if (isForecast) forecasts.push('forecast')
        return database.session.rows(query)
      },
    } as typeof database.session
    const duty = createAlertEvaluation({ session, kind: database.kind }, road.writer)
    const run = (seconds: number) =>
      duty.run({ now: fleet.now() + seconds * 1_000, listeningSince: 0, isOver: () => false })
    await fleet.send('a', 'old', 'INSTALLED')
    await fleet.rule('long', { metric: 'TIME_LEFT', threshold: 600, perRollout: true })
    await fleet.rule('longer', { metric: 'TIME_LEFT', threshold: 900, perRollout: true })
    await run(0)
    await fleet.send('b', 'old', 'INSTALLED')
    await run(1)
    expect(forecasts).toEqual([])
    await fleet.send('a', 'app', 'INSTALLING')
    await run(2)
    expect(forecasts).toHaveLength(1)
    await fleet.send('b', 'app', 'INSTALLING')
    await run(30)
    expect(forecasts).toHaveLength(1)
    await run(63)
    expect(forecasts).toHaveLength(2)
  })
})
