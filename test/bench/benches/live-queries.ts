/**
 * Ten thousand live queries, each of a deployment of its own and on a few sockets, and each deployment changes once a second: as published for
 * live queries at two CPUs (mean under a second, no error). And twenty thousand, each of which changes every four seconds.
 * Reports come as backlogs, so the cost of deliveries prevails.
 */
import { atMost, type Bench, type Finding, type Lab, stated } from '../harness/bench.ts'
import { buildRequest, openConnection } from '../harness/clients/http-connection.ts'
import { openWebSocket, type RawSocket } from '../harness/clients/websocket.ts'
import { deploymentName, deviceName } from '../harness/fleet.ts'
import { startRollcall } from '../harness/process.ts'
import { quantile, spread } from '../harness/statistics.ts'

/** Live queries of a socket. */
const perSocket = 500
/** Reports of one request. */
const together = 100
/** Requests under way at once: a device's reports are always sent by the same connection, in their order. */
const senders = 10

const document = `subscription ($id: String!) { deployment(deploymentId: $id) { cursor deployment { deploymentId state } } }`

export const liveQueries = createBench('live-queries', 10_000, 1)
export const moreLiveQueries = createBench('live-queries-20000', 20_000, 4)

/** `period`: seconds from one change of a deployment to the next. */
function createBench(name: string, queries: number, period: number): Bench {
  const socketCount = queries / perSocket
  const title = `${queries.toLocaleString('en-US')} subscriptions of a deployment each on ${socketCount} WebSockets, every deployment changed every ${period} s`
  return { name, title, run: (lab) => run(lab, queries, period) }
}

async function run(lab: Lab, queries: number, period: number): Promise<Finding> {
  const database = await lab.postgres()
  const url = await database.create('live_queries')
  const server = await startRollcall({ DATABASE_URL: url })
  const sent = new Float64Array(queries)
  const wrong: string[] = []
  let latencies: number[] = []
  let heard = 0
  let lastHeard = 0
  /** Of each deployment. */
  let changes = 0
  const sockets: RawSocket[] = []
  try {
    for (let index = 0; index < queries / perSocket; index += 1)
      sockets.push(
        await openSocket(server.port, index, queries, {
          hear(device, hasErrors) {
            heard += 1
            lastHeard = performance.now()
            if (hasErrors) wrong.push(`the subscription of ${deploymentName(device)} received an error`)
            const since = sent[device] ?? 0
            if (since > 0) latencies.push(performance.now() - since)
            sent[device] = 0
          },
        }),
      )
    await untilQuiet(() => heard, queries)
    const connections = await Promise.all(Array.from({ length: senders }, () => openConnection(server.port)))
    const lanes: Promise<void>[] = connections.map(() => Promise.resolve())
    const rounds: { mean: number; p99: number; rate: number; cpu: number; refused: number }[] = []
    const state = ['installing', 'installed']
    for (let round = -1; round < lab.rounds; round += 1) {
      latencies = []
      let [told, refused] = [0, 0]
      const [began, used] = [performance.now(), server.cpu()]
      const turns = Math.max(2, Math.round(lab.seconds / period))
      for (let turn = 0; turn < turns; turn += 1, changes += 1)
        for (let from = 0; from < queries; from += together) {
          const due = began + (turn + from / queries) * period * 1_000
          const wait = due - performance.now()
          if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
          const reports = Array.from({ length: together }, (_, index) => {
            const device = from + index
            // When it should have been sent, whether or not it could be.
            if ((sent[device] ?? 0) === 0) sent[device] = Math.min(due, performance.now())
            return report(device, state[changes % 2] ?? '')
          })
          const lane = (from / together) % senders
          const request = buildRequest('POST', '/reports', JSON.stringify({ reports }))
          lanes[lane] = (lanes[lane] ?? Promise.resolve()).then(async () => {
            const answer = await connections[lane]?.send(request)
            if (answer?.status !== 200) refused += together
          })
          told += together
        }
      await Promise.all(lanes)
      await untilQuiet(() => latencies.length, told)
      const elapsed = (lastHeard - began) / 1000
      const sorted = latencies.toSorted((a, b) => a - b)
      if (round < 0) continue
      rounds.push({
        mean: latencies.reduce((sum, one) => sum + one, 0) / Math.max(1, latencies.length),
        p99: quantile(sorted, 0.99),
        rate: told / elapsed,
        cpu: ((server.cpu() - used) / told) * 1e6,
        refused,
      })
    }
    for (const connection of connections) connection.close()
    const over = (pick: (round: (typeof rounds)[number]) => number) => spread(rounds.map(pick))
    return {
      rows: [
        {
          variant: 'ours',
          unit: 'changes/s',
          rate: over(({ rate }) => rate),
          serverCpu: over(({ cpu }) => cpu),
          databaseCpu: null,
          clientCpu: null,
        },
      ],
      claims: [
        atMost(
          'mean from due to heard',
          over(({ mean }) => mean),
          1_000,
          'ms',
        ),
        stated(
          'p99',
          over(({ p99 }) => p99),
          'ms',
        ),
        atMost(
          'reports that were refused',
          over(({ refused }) => refused),
          0,
          'reports',
        ),
      ],
      notes: [
        'if a deployment changes again before its subscriber has received the change, only the newest state is sent',
      ],
      wrong: wrong.slice(0, 5),
    }
  } finally {
    for (const socket of sockets) socket.close()
    await server.stop()
    await database.drop('live_queries')
  }
}

function report(device: number, state: string): object {
  const components = [{ name: 'web', state }]
  return { deviceId: deviceName(device), deploymentId: deploymentName(device), status: { state }, components }
}

/** A socket with its share of the subscriptions; an operation's id is its device's number. */
async function openSocket(
  port: number,
  index: number,
  queries: number,
  { hear }: { hear(device: number, hasErrors: boolean): void },
): Promise<RawSocket> {
  const { promise: isReady, resolve: ready } = Promise.withResolvers<void>()
  const socket = await openWebSocket(port, '/graphql', 'graphql-transport-ws', (message) => {
    const text = message.toString()
    const [, id] = /"id":"(\d+)"/.exec(text.slice(0, 40)) ?? []
    if (text.includes('"type":"next"') && id) hear(Number(id), text.includes('"errors"'))
    else if (text.includes('connection_ack')) ready()
    else if (text.includes('"type":"ping"')) socket.send('{"type":"pong"}')
  })
  socket.send('{"type":"connection_init"}')
  await isReady
  for (let device = index; device < queries; device += queries / perSocket) {
    const payload = { query: document, variables: { id: deploymentName(device) } }
    socket.send(JSON.stringify({ id: String(device), type: 'subscribe', payload }))
  }
  return socket
}

/** Until so many have come, or no more do. */
async function untilQuiet(count: () => number, wanted: number): Promise<void> {
  for (let before = -1; count() < wanted && before !== count(); ) {
    before = count()
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  }
}
