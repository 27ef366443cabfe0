/**
 * What a delivery costs: all subscribers watch one rollout with the same document, and one report after another changes
 * it. The next report leaves when the last subscriber has received the one before.
 *
 * All CPU of a server between the first report and the last delivery is counted, ÷ deliveries. For ours that includes the
 * whole road of the report: parsed, decided, written in a transaction, and the rollout read again. The floor and the peer
 * only take the request and read nothing. So the CPU of a report without subscribers is measured too, and stated. Then
 * each subscriber gets a document of its own: first only with another name, then with another selection.
 */
import { atLeast, atMost, type Bench, type Claim, type Lab, type Row, stated } from '../harness/bench.ts'
import { openConnection } from '../harness/clients/http-connection.ts'
import { type Subscription, subscribe } from '../harness/clients/subscription.ts'
import { countDeliveries, reportInTurn } from '../harness/deliveries.ts'
import { buildReports, createFleet, deploymentName, type Fleet } from '../harness/fleet.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { interleave, type Measure, ratio, rowsOf, type Sample } from '../harness/rounds.ts'
import { spread } from '../harness/statistics.ts'

const groups = [1_000, 5_000]

/** `name`: of the operation. `total`: the name of a field in the response. Each makes another document. */
const documentOf = (name = '', total = 'total'): string => `subscription ${name} {
  rollout(key: { name: "${deploymentName(0)}" }) { cursor rollout { name deploymentCounts { ${total}: total installed failed } } }
}`

const listed = 50

/** A live list, of which each report moves a row to the top, or brings in a row that drives out the last one. */
const listDocument = `subscription {
  deployments(first: ${listed}) { cursor removed rows { position deployment { id deploymentId state components { name state } } } }
}`

interface SubscriberGroup {
  readonly measure: Measure
  close(): void
}

export const fanOut: Bench = {
  name: 'fan-out',
  title: 'WebSocket subscribers of one rollout, with the same document; reports move it one after another',
  async run(lab) {
    const rows: Row[] = []
    const claims: Claim[] = []
    const wrong: string[] = []
    for (const size of groups) await measureGroup(lab, size, rows, claims, wrong)
    return {
      rows,
      claims,
      notes: ['an operation is a delivery; every subscriber was waited for after each report'],
      wrong: wrong.slice(0, 5),
    }
  },
}

async function measureGroup(lab: Lab, size: number, rows: Row[], claims: Claim[], wrong: string[]): Promise<void> {
  const database = await lab.postgres()
  const url = await database.create('fan_out')
  const server = await startRollcall({ DATABASE_URL: url })
  const floor = await startProgram({ script: 'test/bench/floors/broadcast.ts' })
  const stock = await startProgram({
    script: 'test/bench/peers/graphql-ws.ts',
    // So many listeners are the point here.
    env: { NODE_NO_WARNINGS: '1' },
  })
  const group: SubscriberGroup[] = []
  const fleet = createFleet(buildReports(1), 1)
  try {
    const report = await measureReports(lab, server, fleet, wrong)
    for (const program of [server, floor, stock])
      group.push(await gather({ lab, program, size, fleet, wrong }, program === server))
    const [ours, raw, peer] = group
    if (!ours || !raw || !peer) throw new Error('there are no subscribers')
    const samples = await interleave(
      { [`ours, ${size}`]: ours.measure, [`floor, ${size}`]: raw.measure, [`stock, ${size}`]: peer.measure },
      lab.rounds,
    )
    ours.close()
    const different = await gather({ lab, program: server, size, fleet, wrong }, true, (number) =>
      documentOf(`Own${number}`),
    )
    group.push(different)
    Object.assign(samples, await interleave({ [`own names, ${size}`]: different.measure }, lab.rounds))
    different.close()
    const selecting = await gather({ lab, program: server, size, fleet, wrong }, true, (number) =>
      documentOf('', `total${number}`),
    )
    group.push(selecting)
    Object.assign(samples, await interleave({ [`own selections, ${size}`]: selecting.measure }, lab.rounds))
    selecting.close()
    const reporting = createFleet(buildReports(listed + 10), 1)
    await measureReports(lab, server, reporting, wrong, listed + 10)
    const listing = await gather(
      { lab, program: server, size, fleet: reporting, devices: listed + 10, wrong },
      true,
      () => listDocument,
    )
    group.push(listing)
    Object.assign(samples, await interleave({ [`live list, ${size}`]: listing.measure }, lab.rounds))
    const of = (name: string): readonly Sample[] => samples[`${name}, ${size}`] ?? []
    const cpu = (sample: Sample): number => sample.serverCpu
    rows.push(...rowsOf(samples, 'deliveries/s'))
    claims.push(
      atMost(
        `${size}: CPU a delivery, ours ÷ floor (ws.send of one string)`,
        ratio(of('ours'), of('floor'), cpu),
        1.25,
      ),
      atLeast(`${size}: CPU a delivery, stock graphql-ws ÷ ours`, ratio(of('stock'), of('ours'), cpu), 3),
      stated(`${size}: deliveries/s, ours ÷ floor`, ratio(of('ours'), of('floor'))),
      stated(`${size}: CPU of a report without subscribers`, spread([report]), 'µs'),
      stated(
        `${size}: CPU a delivery without the report's own, ours ÷ floor`,
        spread(of('ours').map((sample, round) => (cpu(sample) - report / size) / cpu(of('floor')[round] ?? sample))),
      ),
      atMost(
        `${size}: CPU a delivery, each with a document of its own ÷ with the same`,
        ratio(of('own names'), of('ours'), cpu),
        2,
      ),
      atMost(
        `${size}: CPU a delivery, each with a selection of its own ÷ with the same`,
        ratio(of('own selections'), of('ours'), cpu),
        2,
      ),
      atMost(
        `${size}: CPU a delivery, a live list of ${listed} rows ÷ a rollout`,
        ratio(of('live list'), of('ours'), cpu),
        1.5,
      ),
    )
  } finally {
    for (const one of group) one.close()
    await Promise.all([server, floor, stock].map((program) => program.stop()))
    await database.drop('fan_out')
  }
}

interface Gathering {
  readonly lab: Lab
  readonly program: Program
  readonly size: number
  /** Of ours: a device whose reports move what they watch. */
  readonly fleet: Fleet
  /** The number of devices that report in turn. Absent: one. */
  readonly devices?: number
  readonly wrong: string[]
}

/** Subscribers of a server. */
async function gather(
  { lab, program, size, fleet: own, devices = 1, wrong }: Gathering,
  isOurs: boolean,
  query: (number: number) => string = () => documentOf(),
): Promise<SubscriberGroup> {
  const { port } = program
  const fleet = isOurs ? own : createFleet(buildReports(1), 1, true)
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
          subscribe({ port, query: query(begun + index), hear, fail: (problem) => wrong.push(problem) }),
        ),
      )),
    )
  // Ours begins with the present state; the others say nothing before something happens.
  if (isOurs) await deliveries.until(size)

  return {
    measure: reportInTurn(lab, 'deliveries', { program, fleet, devices, deliveries, watchers: size, wrong }),
    close() {
      for (const subscription of subscriptions) subscription.close()
    },
  }
}

/** One after another, without subscribers. The first ones warm up. */
async function measureReports(lab: Lab, program: Program, fleet: Fleet, wrong: string[], devices = 1): Promise<number> {
  const connection = await openConnection(program.port)
  const send = async (seconds: number): Promise<number> => {
    const end = performance.now() + seconds * 1000
    let count = 0
    for (; performance.now() < end || count < devices; count += 1) {
      const problem = fleet.check(0, await connection.send(fleet.report(count % devices)))
      if (problem) wrong.push(problem)
    }
    return count
  }
  await send(lab.seconds)
  const used = program.cpu()
  const count = await send(lab.seconds)
  connection.close()
  return ((program.cpu() - used) / count) * 1e6
}
