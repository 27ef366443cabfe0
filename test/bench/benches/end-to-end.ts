/**
 * From the moment a report should have been sent until a subscriber has its change, at half of what ingest can take.
 * One device in a hundred is watched: the others are the load.
 */
import { createServer, connect as dial } from 'node:net'
import postgres from 'postgres'
import { atMost, type Bench, stated } from '../harness/bench.ts'
import { subscribe } from '../harness/clients/subscription.ts'
import { runDuties } from '../harness/duties.ts'
import { buildReports, createFleet, deploymentName } from '../harness/fleet.ts'
import { openLoop } from '../harness/open-loop.ts'
import { startRollcall } from '../harness/process.ts'
import { quantile, spread } from '../harness/statistics.ts'
import { connections, devices, startReporting } from './ingest.ts'

const watchedEvery = 100

const query = `subscription ($ids: [String!]!) {
  changes(filter: { deploymentIds: $ids, kinds: [DEPLOYMENT_STATE_CHANGED] }) {
    cursor
    reset { reason }
    change { ... on DeploymentStateChanged { deploymentId to } }
  }
}`

export const endToEnd: Bench = {
  name: 'end-to-end',
  title: 'a report sent → its change received over WebSocket, at half of the capacity, in an open loop',
  async run(lab) {
    const database = await lab.postgres()
    const url = await database.create('end_to_end')
    const server = await startRollcall({ DATABASE_URL: url })
    const fleet = createFleet(buildReports(devices), connections)
    const road = startReporting(lab, server, fleet, database)
    const wrong: string[] = []
    const due = new Map<string, number[]>()
    let latencies: number[] = []
    const watched = Array.from({ length: devices / watchedEvery }, (_, index) => deploymentName(index * watchedEvery))
    const subscription = await subscribe({
      port: server.port,
      query,
      variables: { ids: watched },
      fail: (problem) => wrong.push(problem),
      hear(message) {
        const now = performance.now()
        const { payload } = JSON.parse(message.toString()) as Next
        const event = payload.data?.changes
        if (!event || event.reset) wrong.push(message.toString())
        const sent = due.get(event?.change?.deploymentId ?? '')?.shift()
        if (sent !== undefined) latencies.push(now - sent)
      },
    })
    try {
      await road.introduce()
      const capacity = (await road.measure(false)).rate
      const rate = Math.round(capacity / 2)
      // The first reports of so many devices at once are indexed for searches for some seconds: the rounds are of known deployments.
      await runDuties(server, lab)
      const rounds: Round[] = []
      for (let round = -1; round < lab.rounds; round += 1) {
        const floor = (await commitTime(url)) + (await roundTripTime())
        latencies = []
        due.clear()
        const [used, stored, began] = [server.cpu(), database.cpu(), performance.now()]
        const client = process.cpuUsage()
        const total = Math.floor(rate * lab.seconds)
        await openLoop({
          port: server.port,
          connections,
          rate,
          seconds: lab.seconds,
          check: (answer) => fleet.check(0, answer),
          next(number, time) {
            const device = number % devices
            if (device % watchedEvery === 0) {
              const name = deploymentName(device)
              due.set(name, [...(due.get(name) ?? []), time])
            }
            return fleet.report(device)
          },
        })
        await settled(due)
        for (const [name, left] of due) if (left.length > 0) wrong.push(`${left.length} changes of ${name} never came`)
        const { user, system } = process.cpuUsage(client)
        const elapsed = (performance.now() - began) / 1000
        const sorted = latencies.toSorted((a, b) => a - b)
        if (round >= 0)
          rounds.push({
            floor,
            p50: quantile(sorted, 0.5),
            p99: quantile(sorted, 0.99),
            rate: total / elapsed,
            serverCpu: ((server.cpu() - used) / total) * 1e6,
            databaseCpu: ((database.cpu() - stored) / total) * 1e6,
            clientCpu: (user + system) / 1e6 / elapsed,
          })
      }
      const over = (pick: (round: Round) => number) => spread(rounds.map(pick))
      return {
        rows: [
          {
            variant: 'ours',
            unit: 'reports/s',
            rate: over((round) => round.rate),
            serverCpu: over((round) => round.serverCpu),
            databaseCpu: over((round) => round.databaseCpu),
            clientCpu: over((round) => round.clientCpu),
          },
        ],
        claims: [
          atMost(
            'p50 − floor (one commit + one round trip)',
            over((round) => round.p50 - round.floor),
            3,
            'ms',
          ),
          stated(
            'p50',
            over((round) => round.p50),
            'ms',
          ),
          atMost(
            'p99',
            over((round) => round.p99),
            15,
            'ms',
          ),
          stated(
            'floor',
            over((round) => round.floor),
            'ms',
          ),
        ],
        notes: [
          `capacity was ${Math.round(capacity).toLocaleString('en-US')} reports/s; up to 1 ms of each latency is the client's timer`,
        ],
        wrong: wrong.slice(0, 5),
      }
    } finally {
      subscription.close()
      await server.stop()
      await database.drop('end_to_end')
    }
  },
}

interface Round {
  /** Milliseconds. */
  readonly floor: number
  readonly p50: number
  readonly p99: number
  readonly rate: number
  /** Microseconds a report. */
  readonly serverCpu: number
  readonly databaseCpu: number
  /** Share of one core. */
  readonly clientCpu: number
}

interface Next {
  readonly payload: {
    readonly data?: { readonly changes: { readonly reset: unknown; readonly change: { deploymentId?: string } | null } }
  }
}

/** Everything that was sent has come, or will not. */
async function settled(due: ReadonlyMap<string, readonly number[]>): Promise<void> {
  const end = performance.now() + 5_000
  while (performance.now() < end && [...due.values()].some((left) => left.length > 0))
    await new Promise((resolve) => setTimeout(resolve, 10))
}

/** Milliseconds, the median: a row changed and on the disk, by one connection. */
async function commitTime(url: string): Promise<number> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await sql`create table if not exists commits (n bigint)`
    await sql`insert into commits select 0 where not exists (select from commits)`
    return await median(200, () => sql`update commits set n = n + 1`)
  } finally {
    await sql.end()
  }
}

/** Milliseconds, the median: some bytes there and back over loopback. */
async function roundTripTime(): Promise<number> {
  const server = createServer((socket) => socket.pipe(socket).on('error', () => undefined))
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
  const socket = dial({ port, host: '127.0.0.1', noDelay: true })
  try {
    return await median(500, () => {
      const back = new Promise((resolve) => socket.once('data', resolve))
      socket.write('ping')
      return back
    })
  } finally {
    socket.destroy()
    server.close()
  }
}

async function median(times: number, act: () => PromiseLike<unknown>): Promise<number> {
  const took: number[] = []
  for (let time = 0; time < times; time += 1) {
    const began = performance.now()
    await act()
    took.push(performance.now() - began)
  }
  return spread(took).median
}
