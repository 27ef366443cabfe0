/**
 * Each subscriber watches one deployment of its own crowd; a report concerns five of them. What the others cost is the question: the same
 * work is measured among a thousand subscribers and among five thousand. The floor stores nothing, so what a report without subscribers costs
 * is measured beside it: the five deliveries come on top of that.
 */
import { atMost, type Bench, type Claim, type Lab, type Row, stated } from '../harness/bench.ts'
import { type Subscription, subscribe } from '../harness/clients/subscription.ts'
import { countDeliveries, reportInTurn } from '../harness/deliveries.ts'
import { buildReports, createFleet, deploymentName } from '../harness/fleet.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { interleave, type Measure, ratio, rowsOf, type Sample } from '../harness/rounds.ts'

const watchersEach = 5
const [few, many] = [1_000, 5_000]

const query = `subscription ($id: String!) {
  deployment(deploymentId: $id) { cursor deployment { deploymentId state } }
}`

export const selective: Bench = {
  name: 'selective',
  title: `a report that ${watchersEach} of ${few.toLocaleString('en-US')} or of ${many.toLocaleString('en-US')} WebSocket subscribers receive`,
  async run(lab) {
    const database = await lab.postgres()
    const rows: Row[] = []
    const wrong: string[] = []
    const programs: Program[] = []
    const groups: SubscriberGroup[] = []
    const start = async (size: number): Promise<Record<string, Measure>> => {
      const url = await database.create(`selective_${size}`)
      const started = {
        ours: await startRollcall({ DATABASE_URL: url }),
        floor: await startProgram({ script: 'test/bench/floors/topics.ts' }),
        stock: await startProgram({ script: 'test/bench/peers/graphql-ws-filter.ts', env: { NODE_NO_WARNINGS: '1' } }),
      }
      programs.push(...Object.values(started))
      const variants: Record<string, Measure> = {}
      for (const [name, program] of Object.entries(started)) {
        const crowd = { deployments: size / watchersEach, watchers: watchersEach, isOurs: name === 'ours' }
        const group = await gather(lab, program, crowd, wrong)
        groups.push(group)
        variants[`${name}, ${size}`] = group.measure
      }
      return variants
    }
    const startUnwatched = async (): Promise<Measure> => {
      const program = await startRollcall({ DATABASE_URL: await database.create('selective_0') })
      programs.push(program)
      const crowd = { deployments: few / watchersEach, watchers: 0, isOurs: true }
      return (await gather(lab, program, crowd, wrong)).measure
    }
    try {
      const variants: Record<string, Measure> = {
        ...(await start(few)),
        ...(await start(many)),
        'ours, none': await startUnwatched(),
      }
      const samples = await interleave(variants, lab.rounds)
      const of = (name: string, size: number): readonly Sample[] => samples[`${name}, ${size}`] ?? []
      const cpu = (sample: Sample): number => sample.serverCpu
      rows.push(...rowsOf(samples, 'reports/s'))
      const growth = (name: string) => ratio(of(name, many), of(name, few), cpu)
      const claims: Claim[] = [
        atMost(`CPU a report, ${many} ÷ ${few} subscribers`, growth('ours'), 1.25),
        stated('the same of the floor (Map<topic, Set>)', growth('floor')),
        stated('the same of stock graphql-ws with a filter', growth('stock')),
        stated(`${many}: CPU a report, ours ÷ floor`, ratio(of('ours', many), of('floor', many), cpu)),
        stated(
          'CPU of a report without subscribers ÷ floor, with its five deliveries',
          ratio(samples['ours, none'] ?? [], of('floor', few), cpu),
        ),
      ]
      return {
        rows,
        claims,
        notes: ['the next report leaves when its five subscribers have heard of the one before'],
        wrong: wrong.slice(0, 5),
      }
    } finally {
      for (const group of groups) group.close()
      await Promise.all(programs.map((program) => program.stop()))
      for (const size of [0, few, many]) await database.drop(`selective_${size}`)
    }
  },
}

interface SubscriberGroup {
  readonly measure: Measure
  close(): void
}

interface Crowd {
  readonly deployments: number
  /** Subscribers of each deployment. */
  readonly watchers: number
  readonly isOurs: boolean
}

async function gather(
  lab: Lab,
  program: Program,
  { deployments, watchers, isOurs }: Crowd,
  wrong: string[],
): Promise<SubscriberGroup> {
  const { port } = program
  const size = deployments * watchers
  const fleet = createFleet(buildReports(deployments), 1, !isOurs)
  const deliveries = countDeliveries()
  const subscriptions: Subscription[] = []
  const hear = (message: Buffer): void => {
    if (message.includes('"errors"')) wrong.push(message.toString())
    deliveries.hear()
  }
  for (let begun = 0; begun < size; begun += 100)
    subscriptions.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(100, size - begun) }, (_, index) =>
          subscribe({
            port,
            query,
            variables: { id: deploymentName((begun + index) % deployments) },
            hear,
            fail: (problem) => wrong.push(problem),
          }),
        ),
      )),
    )
  // Ours begins with the present: that there is nothing yet.
  if (isOurs) await deliveries.until(size)

  return {
    measure: reportInTurn(lab, 'reports', {
      program,
      fleet,
      devices: deployments,
      deliveries,
      watchers,
      wrong,
    }),
    close() {
      for (const subscription of subscriptions) subscription.close()
    },
  }
}
