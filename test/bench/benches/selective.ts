/**
 * Each subscriber watches one deployment of its own crowd; a report concerns five of them. What the others cost is the question: the same
 * work is measured among a thousand subscribers and among five thousand.
 */
import { atMost, type Bench, type Claim, type Row, stated } from '../harness/bench.ts'
import { WrongAnswer } from '../harness/closed-loop.ts'
import { buildReports, createFleet, deploymentName } from '../harness/fleet.ts'
import { openConnection } from '../harness/http-connection.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'
import { type Subscription, subscribe } from '../harness/subscription.ts'

const watchersEach = 5
const [few, many] = [1_000, 5_000]

const query = `subscription ($id: String!) {
  deployment(deploymentId: $id) { cursor deployment { deploymentId state } }
}`

export const selective: Bench = {
  name: 'selective',
  title: `a report that ${watchersEach} of ${few.toLocaleString('en-US')} or of ${many.toLocaleString('en-US')} WebSocket subscribers are told of`,
  async run(lab) {
    const database = await lab.postgres()
    const rows: Row[] = []
    const wrong: string[] = []
    const programs: Program[] = []
    const groups: SubscriberGroup[] = []
    const start = async (size: number): Promise<Record<string, (isWarmUp: boolean) => Promise<Sample>>> => {
      const url = await database.create(`selective_${size}`)
      const started = {
        ours: await startRollcall({ DATABASE_URL: url }),
        floor: await startProgram({ script: 'test/bench/floors/topics.ts' }),
        stock: await startProgram({ script: 'test/bench/peers/graphql-ws-filter.ts', env: { NODE_NO_WARNINGS: '1' } }),
      }
      programs.push(...Object.values(started))
      const variants: Record<string, (isWarmUp: boolean) => Promise<Sample>> = {}
      for (const [name, program] of Object.entries(started)) {
        const group = await gather(program, size, name === 'ours', lab.seconds, wrong)
        groups.push(group)
        variants[`${name}, ${size}`] = group.measure
      }
      return variants
    }
    try {
      const variants = { ...(await start(few)), ...(await start(many)) }
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
      for (const size of [few, many]) await database.drop(`selective_${size}`)
    }
  },
}

interface SubscriberGroup {
  readonly measure: (isWarmUp: boolean) => Promise<Sample>
  close(): void
}

async function gather(
  program: Program,
  size: number,
  isOurs: boolean,
  seconds: number,
  wrong: string[],
): Promise<SubscriberGroup> {
  const { port } = program
  const deployments = size / watchersEach
  const fleet = createFleet(buildReports(deployments), 1, !isOurs)
  let heard = 0
  let expected = Number.POSITIVE_INFINITY
  let reached: () => void = () => undefined
  const subscriptions: Subscription[] = []
  const hear = (message: Buffer): void => {
    if (message.includes('"errors"')) wrong.push(message.toString())
    heard += 1
    if (heard >= expected) reached()
  }
  const until = (number: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new WrongAnswer(`${heard} of ${number} deliveries came`)), 30_000)
      expected = number
      reached = () => {
        clearTimeout(timer)
        resolve()
      }
      if (heard >= number) reached()
    })
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
  if (isOurs) await until(size)
  let device = 0

  return {
    async measure(isWarmUp) {
      const connection = await openConnection(port)
      const end = performance.now() + (isWarmUp ? 500 : seconds * 1000)
      const [began, used, client] = [performance.now(), program.cpu(), process.cpuUsage()]
      let reports = 0
      while (performance.now() < end) {
        const all = until(heard + watchersEach)
        const problem = fleet.check(0, await connection.send(fleet.report(device)))
        if (problem) wrong.push(problem)
        await all
        device = (device + 1) % deployments
        reports += 1
      }
      const elapsed = (performance.now() - began) / 1000
      const { user, system } = process.cpuUsage(client)
      connection.close()
      return {
        rate: reports / elapsed,
        serverCpu: ((program.cpu() - used) / reports) * 1e6,
        databaseCpu: null,
        clientCpu: (user + system) / 1e6 / elapsed,
      }
    },
    close() {
      for (const subscription of subscriptions) subscription.close()
    },
  }
}
