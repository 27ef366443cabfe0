import { describe, expect, it, onTestFinished } from 'vitest'
import { createAlertEvaluation } from '../../src/ingest/alerts/evaluation.ts'
import { saveAlertRule } from '../../src/ingest/commands/alert-rules.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { sinksByKey } from '../../src/store/sinks/sinks.ts'
import { givenRule } from '../ingest/alerts/harness.ts'
import { report } from '../support/clients/reports.ts'
import { stores } from '../support/databases/stores.ts'
import { startAlertmanager } from '../support/systems/alertmanager.ts'
import { hasProgram } from '../support/systems/prometheus.ts'
import { startReceiver } from '../support/systems/receiver.ts'
import { type Replica, useSinks } from './harness.ts'

const isMissing = !hasProgram('prometheus-alertmanager')

describe.each(stores)('an Alertmanager sink on $name', (store) => {
  const { startStore, start, use } = useSinks(store)
  let now = Date.now()
  const clock = (): number => now

  const send = ({ road }: Replica, device: string, state: 'FAILED' | 'INSTALLED') =>
    road.writer.submit(
      recordReport(
        report({
          ...{ deploymentId: 'app', reporter: device, state },
          error: state === 'FAILED' ? { code: '1', message: 'broken' } : null,
        }),
      ),
    )
  async function open() {
    now = Date.now()
    const replica = await start(await startStore(), { clock })
    const duty = createAlertEvaluation(replica.road.database, replica.road.writer)
    const evaluate = () => duty.run({ now, listeningSince: 0, isOver: () => false })
    await evaluate()
    await replica.road.writer.submit(
      saveAlertRule(
        givenRule('failed', {
          ...{ perRollout: true, severity: 'CRITICAL', runbookUrl: 'https://wiki.example/failed' },
          labels: [{ key: 'team', value: 'edge\u202e' }],
          description: 'of \u202egro',
        }),
      ),
    )
    return { replica, evaluate }
  }

  it('goes on to send what fires when the clock of the database goes back', async () => {
    const { replica, evaluate } = await open()
    const receiver = await use(startReceiver())
    now += 3_600_000
    const alertmanager = { name: 'one', url: receiver.url, authorization: null }
    const { key } = await replica.outgoing.manager.createAlertmanager(alertmanager)
    await send(replica, 'a', 'FAILED')
    await evaluate()
    await receiver.until(({ length }) => length === 1)
    const { session } = replica.road.database
    await expect.poll(async () => (await sinksByKey(session, [key])).get(key)?.settings.repeatAt).toBe(now + 60_000)
    now -= 3_600_000
    replica.outgoing.refresh()
    await receiver.until(({ length }) => length === 2)
  })

  it('sends what fires again every minute, and the end of what is resolved', async () => {
    const { replica, evaluate } = await open()
    const receiver = await use(startReceiver())
    const { manager } = replica.outgoing
    await manager.createAlertmanager({ name: 'one', url: `${receiver.url}/`, authorization: 'Bearer x' })
    await send(replica, 'a', 'FAILED')
    await evaluate()
    await receiver.until(({ length }) => length === 1)
    now += 61_000
    replica.outgoing.refresh()
    await receiver.until(({ length }) => length === 2)
    await send(replica, 'a', 'INSTALLED')
    await evaluate()
    const [first, second, last] = await receiver.until(({ length }) => length === 3)
    expect(first).toMatchObject({ method: 'POST', path: '/api/v2/alerts', headers: { authorization: 'Bearer x' } })
    expect(first?.body).toEqual([
      {
        labels: {
          ...{ alertname: 'failed', severity: 'critical', team: 'edge\u202e', rollout: 'app' },
          rollout_id: expect.any(String),
        },
        // Persons read annotations. Labels identify the alert, so they stay exact.
        annotations: {
          summary: 'Failed: 1 (threshold 1)',
          description: String.raw`of \u202egro`,
          runbook_url: 'https://wiki.example/failed',
        },
        startsAt: expect.any(String),
        generatorURL: 'http://rollcall.test',
      },
    ])
    expect(second?.body).toEqual(first?.body)
    expect(last?.body).toEqual([{ ...first?.body[0], endsAt: expect.any(String) }])
  })

  it('is asked below its own path, with its own query', async () => {
    const { replica } = await open()
    const receiver = await use(startReceiver())
    const { manager } = replica.outgoing
    const url = `${receiver.url}/am/?tenant=north`
    const { key } = await manager.createAlertmanager({ name: 'behind a proxy', url, authorization: null })
    expect(await manager.test(key)).toMatchObject({ status: 200, error: null })
    expect(receiver.received.map(({ path }) => path)).toEqual(['/am/api/v2/alerts?tenant=north'])
  })

  it.skipIf(isMissing)('ends right when the Alertmanager is killed and restarted', async () => {
    const { replica, evaluate } = await open()
    const receiver = await use(startReceiver())
    const alertmanager = await startAlertmanager(receiver.url)
    onTestFinished(() => alertmanager.dispose())
    await replica.outgoing.manager.createAlertmanager({ name: 'one', url: alertmanager.url, authorization: null })
    await send(replica, 'a', 'FAILED')
    await evaluate()
    await expect.poll(() => alertmanager.firing()).toEqual(['failed app'])
    await receiver.until((all) => all.some(({ body }) => body.status === 'firing'))

    await alertmanager.stop('SIGKILL')
    await alertmanager.restart()
    expect(await alertmanager.firing()).toEqual([])
    now += 61_000
    replica.outgoing.refresh()
    await expect.poll(() => alertmanager.firing()).toEqual(['failed app'])
    await receiver.until((all) => all.filter(({ body }) => body.status === 'firing').length === 2)

    await alertmanager.stop('SIGTERM')
    await send(replica, 'a', 'INSTALLED')
    await evaluate()
    await alertmanager.restart()
    now += 61_000
    replica.outgoing.refresh()
    await receiver.until((all) => all.some(({ body }) => body.status === 'resolved'))
    expect(await alertmanager.firing()).toEqual([])
  })

  it.skipIf(isMissing)('is tested with an alert that the Alertmanager forwards', async () => {
    const { replica } = await open()
    const receiver = await use(startReceiver())
    const alertmanager = await startAlertmanager(receiver.url)
    onTestFinished(() => alertmanager.dispose())
    const { manager } = replica.outgoing
    const sink = await manager.createAlertmanager({ name: 'one', url: alertmanager.url, authorization: null })
    expect(await manager.test(sink.key)).toMatchObject({ status: 200, error: null })
    const [notified] = await receiver.until(({ length }) => length === 1)
    expect(notified?.body.alerts[0].labels).toMatchObject({ alertname: 'RollcallTest' })
  })
})
