/**
 * Ten thousand WebSockets, each with a document of its own, and for comparison five thousand with one document: more would
 * exceed the descriptors of one client. A hundred watch each deployment. The next report leaves when they have received
 * the one before.
 */
import { atMost, type Bench, type Lab, stated } from '../harness/bench.ts'
import { openConnection } from '../harness/clients/http-connection.ts'
import type { RawSocket } from '../harness/clients/websocket.ts'
import { countDeliveries, reportInTurn } from '../harness/deliveries.ts'
import { buildReports, createFleet, deploymentName } from '../harness/fleet.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { interleave, type Measure, ratio, rowsOf, type Sample } from '../harness/rounds.ts'
import { spread } from '../harness/statistics.ts'
import { openSubscription } from '../harness/visitors.ts'

const sockets = 10_000
const socketsOfOneDocument = 5_000
const watchersEach = 100
/** Sockets that are opened at once. */
const together = 100

const documentOf = (deployment: number, alias: string): string => `subscription {
  deployment(deploymentId: "${deploymentName(deployment)}") {
    cursor coalesced deployment { ${alias}: state deploymentId rollout { name } components { name state } } changes { kind }
  }
}`

export const crowd: Bench = {
  name: 'crowd',
  title: `${sockets.toLocaleString('en-US')} WebSockets, each with a document of its own; a report concerns ${watchersEach} of them`,
  async run(lab) {
    const database = await lab.postgres()
    const crowds: Crowd[] = []
    const wrong: string[] = []
    const start = async (name: string, size: number, aliasOf: (number: number) => string): Promise<Crowd> => {
      const server = await startRollcall({ DATABASE_URL: await database.create(`crowd_${name}`) })
      const own = await gather(lab, server, size, aliasOf, wrong)
      crowds.push(own)
      return own
    }
    try {
      const own = await start('own', sockets, (number) => `state${number}`)
      const same = await start('same', socketsOfOneDocument, () => 'state')
      const samples = await interleave({ 'own documents': own.measure, 'one document': same.measure }, lab.rounds)
      const cpu = ({ serverCpu }: Sample) => serverCpu
      return {
        rows: rowsOf(samples, 'deliveries/s'),
        claims: [
          atMost(
            'CPU a delivery, own documents ÷ one',
            ratio(samples['own documents'], samples['one document'], cpu),
            2,
          ),
          stated('memory of a socket and its own document', spread([own.kilobytes]), 'KiB'),
          stated('memory of a socket with the document of all', spread([same.kilobytes]), 'KiB'),
          stated('time until all had the present, own documents', spread([own.seconds]), 's'),
          stated(`the same of ${socketsOfOneDocument}, one document`, spread([same.seconds]), 's'),
        ],
        notes: ['an operation is a delivery; the report, its transaction and its reads are included'],
        wrong: wrong.slice(0, 5),
      }
    } finally {
      for (const { all } of crowds) for (const socket of all) socket.close()
      await Promise.all(crowds.map(({ program }) => program.stop()))
      for (const name of ['own', 'same']) await database.drop(`crowd_${name}`)
    }
  },
}

interface Crowd {
  readonly program: Program
  readonly all: readonly RawSocket[]
  readonly kilobytes: number
  readonly seconds: number
  readonly measure: Measure
}

async function gather(
  lab: Lab,
  program: Program,
  size: number,
  aliasOf: (number: number) => string,
  wrong: string[],
): Promise<Crowd> {
  const deployments = size / watchersEach
  const fleet = createFleet(buildReports(deployments), 1)
  const connection = await openConnection(program.port)
  for (let device = 0; device < deployments; device += 1) {
    const problem = fleet.check(0, await connection.send(fleet.report(device)))
    if (problem) wrong.push(problem)
  }
  connection.close()
  const [began, before] = [performance.now(), program.memory()]
  const all: RawSocket[] = []
  const deliveries = countDeliveries(60_000)
  for (let first = 0; first < size; first += together)
    all.push(
      ...(await Promise.all(
        Array.from({ length: together }, (_, index) =>
          openSubscription(
            program.port,
            documentOf((first + index) % deployments, aliasOf(first + index)),
            deliveries.hear,
          ),
        ),
      )),
    )
  return {
    program,
    all,
    kilobytes: (program.memory() - before) / 1024 / size,
    seconds: (performance.now() - began) / 1000,
    measure: reportInTurn(lab, 'deliveries', {
      program,
      fleet,
      devices: deployments,
      deliveries,
      watchers: watchersEach,
      wrong,
    }),
  }
}
