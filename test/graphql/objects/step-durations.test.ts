import { afterEach, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const running: RunningApp[] = []
afterEach(async () => {
  for (const app of running.splice(0)) await app.stop()
})

const query = `{ rollouts(first: 2) { nodes { name durations { countedTo
  steps { component state count mean p50 p90 p95 max } } } } }`

it.each(stores)('the steps of a rollout have percentiles on $name', async (store) => {
  const app = await startApp({ store })
  running.push(app)
  const { session } = app.app.database
  for (const device of ['a', 'b'])
    await app.post(`/device/${device}/deployment/hello/status`, {
      deploymentId: 'hello',
      status: { state: 'installed' },
      components: [],
    })
  const [rollout] = await session.run<{ key: number }>('select key from rollouts')
  // Nine steps of 10 s, in two buckets of one component, and one step of 100 s.
  await session.run(
    `insert into step_durations (rollout_key, component, state, bucket, count, total) values
      ($1::bigint, 'web', 'INSTALLING', 212, 4, 40000), ($1::bigint, 'web', 'INSTALLING', 213, 5, 50000),
      ($1::bigint, 'web', 'INSTALLING', 265, 1, 100000), ($1::bigint, '', 'PENDING', 160, 1, 1024)`,
    [rollout?.key],
  )
  const { rollouts } = await app.query(query)
  expect(rollouts.nodes).toEqual([
    {
      name: 'hello',
      durations: {
        countedTo: expect.toSatisfy((to) => to === null || /^\d+$/.test(to)),
        steps: [
          { component: null, state: 'PENDING', count: 1, mean: 1.024, p50: 1.024, p90: 1.024, p95: 1.024, max: 1.024 },
          { component: 'web', state: 'INSTALLING', count: 10, mean: 19, p50: 10, p90: 10, p95: 100, max: 100 },
        ],
      },
    },
  ])
})
