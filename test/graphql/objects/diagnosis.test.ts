/** `rollout { diagnosis }`: the arithmetic is in test/domain/insight; this is what it reads, now, in the past, and for whom. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { diagnosesOf } from '../../../src/store/read/insight/observations.ts'
import { stores } from '../../support/databases/stores.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const diagnosis = `diagnosis { examined problems { problem count share explained
  causes { trait { by labelKey key detail } alike { by labelKey key } count size share rate restRate lift pValue summary
    deployments(first: 1) { totalCount nodes { state reporter } } }
  errors { trait { by key detail } count share deployments { totalCount } } } }`

describe.each(stores)('a diagnosis on $name', (store) => {
  let api: Api
  let before = ''
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    const devices = Array.from({ length: 120 }, (_, index) => ({
      deviceId: `gw-${Math.floor(index / 20)}/child-${index}`,
      gateway: `gw-${Math.floor(index / 20)}`,
      site: index < 60 ? 'munich' : 'bonn',
    }))
    await api.road.writer.submit(
      registerDevices(
        devices.map(({ deviceId, gateway, site }) => ({
          deviceId,
          name: null,
          labels: [{ key: 'site', value: site }],
          parent: gateway,
          expectedInterval: null,
          tokenHash: `hash of ${deviceId}`,
        })),
      ),
    )
    const report = (index: number, some: object) => {
      const { deviceId = '' } = devices[index] ?? {}
      return api.report({ reporter: deviceId, deviceId, deploymentId: 'app', components: [], ...some })
    }
    await Promise.all(devices.map((_, index) => report(index, { state: 'INSTALLING' })))
    before = (await api.ask('{ revision }')).revision
    const isFailing = (index: number) => index >= 102 || index === 5
    await Promise.all(
      devices.map((_, index) =>
        report(index, {
          state: isFailing(index) ? 'FAILED' : 'INSTALLED',
          components: ['web', 'db', 'cache'].map((name) => ({
            name,
            state: isFailing(index) && name === 'db' ? 'FAILED' : 'INSTALLED',
            error: isFailing(index) && name === 'db' ? { code: '507', message: `disk of child-${index} full` } : null,
          })),
        }),
      ),
    )
  })
  afterAll(() => api.close())

  it('finds the gateway and the component, with their deployments', async () => {
    const { rollout } = await api.ask(`{ rollout(key: {name: "app"}) { ${diagnosis} } }`)
    expect(rollout.diagnosis).toMatchObject({
      examined: 120,
      problems: [
        {
          problem: 'FAILED',
          count: 19,
          share: 19 / 120,
          explained: 1,
          causes: [
            {
              trait: { by: 'BLOCKING_COMPONENT', key: 'db' },
              count: 19,
              size: 19,
              restRate: 0,
              lift: null,
              summary: '19 of 19 failed deployments: component db. It blocks 100 % of them, another component 0 %.',
              deployments: { totalCount: 19, nodes: [{ state: 'FAILED' }] },
            },
            {
              trait: { by: 'GATEWAY', labelKey: null, key: 'gw-5' },
              alike: [],
              count: 18,
              size: 20,
              share: 18 / 19,
              rate: 0.9,
              restRate: 0.01,
              lift: 90,
              summary:
                '18 of 19 failed deployments: gateway gw-5. Of the 20 deployments with it 90 % are failed, of the others 1 %.',
              deployments: { totalCount: 18, nodes: [{ state: 'FAILED', reporter: expect.stringMatching(/^gw-5\//) }] },
            },
          ],
          errors: [
            {
              trait: { by: 'ERROR', key: '507', detail: 'disk of # full' },
              count: 19,
              share: 1,
              deployments: { totalCount: 19 },
            },
          ],
        },
      ],
    })
    const [, cause] = rollout.diagnosis.problems[0].causes
    expect(cause.pValue).toBeLessThan(1e-9)
    const { by, key } = cause.trait
    const opened = await api.ask(
      `{ deployments(filter: {states: [FAILED], group: {by: ${by}, key: "${key}"}}) { totalCount } }`,
    )
    expect(opened.deployments.totalCount).toBe(18)
  })

  it('compares a cause with the deployments that no more significant one explains', async () => {
    const states = Array.from({ length: 120 }, (_, index) =>
      index >= 100 || (index >= 20 && index < 30) ? 'FAILED' : 'INSTALLED',
    )
    await Promise.all(
      states.map((state, index) =>
        api.report({
          reporter: `gw-${Math.floor(index / 20)}/child-${index}`,
          deploymentId: 'two',
          state,
          components: [],
        }),
      ),
    )
    const { rollout } = await api.ask(
      '{ rollout(key: {name: "two"}) { diagnosis { problems { causes { lift summary } } } } }',
    )
    expect(rollout.diagnosis.problems).toEqual([
      {
        causes: [
          {
            lift: 10,
            summary:
              '20 of 30 failed deployments: gateway gw-5. Of the 20 deployments with it 100 % are failed, of the others 10 %.',
          },
          {
            lift: null,
            summary:
              '10 of 30 failed deployments: gateway gw-1. Of the 20 deployments with it 50 % are failed, of those without another cause 0 %.',
          },
        ],
      },
    ])
  })

  it('is that of the revision in the past', async () => {
    const then = await api.ask(`{ rollout(key: {name: "app"}, atRevision: "${before}") { ${diagnosis} } }`)
    expect(then.rollout.diagnosis).toEqual({ examined: 120, problems: [] })
  })

  it('refuses to read too much, and samples nothing', async () => {
    const { session, kind } = api.road.database
    const reader = { ...session, kind }
    const [row] = await session.run<{ key: number }>('select key from rollouts')
    const keys = [row?.key ?? 0]
    await expect(diagnosesOf(reader, keys, null, 119)).rejects.toThrow('at most 119 in a request')
    expect((await diagnosesOf(reader, keys, null, 120)).get(keys[0] ?? 0)?.examined).toBe(120)
  })

  it('ends when the operation does, whatever is left to compare', async () => {
    const { session, kind } = api.road.database
    const [row] = await session.run<{ key: number }>('select key from rollouts')
    const over = new AbortController()
    const late = {
      ...{ ...session, kind },
      signal: over.signal,
      rows: (async (query) => {
        const rows = await session.rows(query)
        over.abort(new Error('this took longer than 30 s'))
        return rows
      }) as typeof session.rows,
    }
    await expect(diagnosesOf(late, [row?.key ?? 0], null)).rejects.toThrow('this took longer than 30 s')
  })

  it('compares only what the caller sees', async () => {
    const { data } = await api.query(`{ rollout(key: {name: "app"}) { ${diagnosis} } }`, {}, 'viewer/label:site=bonn')
    expect(data.rollout.diagnosis).toMatchObject({ examined: 60, problems: [{ count: 18 }] })
  })
})
