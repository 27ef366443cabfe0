/**
 * A thousand subscribers of all changes lose their connections; ten thousand changes later all come back at once. How often is the backlog read
 * in the database, and does each get every change exactly once? The clients look at each message's bytes and parse nothing: there are ten million.
 * The floor is the backlog read once by one statement and the same bytes poured over as many plain sockets, to the same process.
 */
import { connect } from 'node:net'
import postgres from 'postgres'
import { atMost, type Bench, stated } from '../harness/bench.ts'
import { ask } from '../harness/clients/graphql.ts'
import { openConnections } from '../harness/clients/http-connection.ts'
import { type Subscription, subscribe } from '../harness/clients/subscription.ts'
import { WrongAnswer } from '../harness/closed-loop.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { startProgram, startRollcall } from '../harness/process.ts'
import { spread } from '../harness/statistics.ts'

const group = 1_000
/** In short rounds. */
const smallCrowd = 300
/** Reports: each is an entry of three changes. */
const reports = 3_334
const senders = 32

/** Milliseconds: ten million deliveries take their time. */
const patience = 110_000

const query = 'subscription ($after: Revision) { changes(after: $after) { cursor reset { reason } } }'

interface Round {
  readonly reads: number
  readonly seconds: number
  readonly floor: number
  readonly cpu: number
  readonly clientCpu: number
}

export const resumeStorm: Bench = {
  name: 'resume-storm',
  title: `${group.toLocaleString('en-US')} subscribers (${smallCrowd} in short rounds) come back at once, ${(reports * 3).toLocaleString('en-US')} changes behind`,
  async run(lab) {
    const database = await lab.postgres()
    const url = await database.create('resume_storm')
    const server = await startRollcall({ DATABASE_URL: url })
    const bare = await startProgram({ script: 'test/bench/floors/pour.ts' })
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    const wrong: string[] = []
    const rounds: Round[] = []
    const fleet = createFleet(buildReports(reports), 1)
    const subscribers = lab.isQuick ? smallCrowd : group
    try {
      for (let round = 0; round < (lab.isQuick ? 1 : 2); round += 1) {
        const before = await revisionOf(server.url)
        const connections = await openConnections(server.port, senders)
        await Promise.all(
          connections.map(async (connection, sender) => {
            for (let device = sender; device < reports; device += senders) {
              const problem = fleet.check(0, await connection.send(fleet.report(device)))
              if (problem) wrong.push(problem)
            }
            connection.close()
          }),
        )
        const after = await revisionOf(server.url)
        const read = await readOnce(sql, before)
        const rowsBefore = await rowsRead(sql)
        const [began, used, client] = [performance.now(), server.cpu(), process.cpuUsage()]
        const bytes = await storm(server.port, subscribers, before, after)
        const seconds = (performance.now() - began) / 1000
        const { user, system } = process.cpuUsage(client)
        const cpu = ((server.cpu() - used) * 1e6) / (subscribers * (after - before))
        const reads = ((await rowsRead(sql)) - rowsBefore) / reports
        const floor = read + (await pourOver(bare.port, subscribers, bytes / subscribers))
        rounds.push({ reads, seconds, floor, cpu, clientCpu: (user + system) / 1e6 / seconds })
      }
      const over = (pick: (round: Round) => number) => spread(rounds.map(pick))
      return {
        rows: [],
        claims: [
          atMost(
            'backlog reads (rows of the log that were read ÷ rows of the backlog)',
            over(({ reads }) => reads),
            10,
            'reads',
          ),
          stated(
            'all had everything after',
            over(({ seconds }) => seconds),
            's',
          ),
          stated(
            'that ÷ the backlog read once and its bytes sent over plain sockets',
            over(({ seconds, floor }) => seconds / floor),
          ),
          stated(
            'server CPU for each delivery',
            over(({ cpu }) => cpu),
            'µs',
          ),
          stated(
            "the clients' share of a core",
            over(({ clientCpu }) => clientCpu * 100),
            '%',
          ),
        ],
        notes: [`each of ${subscribers} subscribers had each of the changes exactly once, in order`],
        wrong: wrong.slice(0, 5),
      }
    } finally {
      await sql.end()
      await Promise.all([server.stop(), bare.stop()])
      await database.drop('resume_storm')
    }
  },
}

const cursorKey = Buffer.from('"cursor":"')
const noReset = Buffer.from('"reset":null')
const quote = 0x22
const zero = 0x30

/** Resolves when everybody has everything, with how many bytes that were. Throws at the first hole, double, error or lost socket. */
async function storm(port: number, subscribers: number, after: number, end: number): Promise<number> {
  const open: Subscription[] = []
  let [missing, bytes] = [subscribers, 0]
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (problem: string): void => reject(new WrongAnswer(problem))
      const timer = setTimeout(() => fail(`${missing} subscribers still miss changes`), patience)
      const join = async (): Promise<void> => {
        let last = after
        const hear = (message: Buffer): void => {
          bytes += message.length
          const cursor = cursorOf(message)
          if (cursor !== last + 1 || !message.includes(noReset)) fail(`after ${last} came ${message.subarray(0, 200)}`)
          last = cursor
          if (cursor !== end) return
          missing -= 1
          if (missing > 0) return
          clearTimeout(timer)
          resolve()
        }
        open.push(await subscribe({ port, query, variables: { after: String(after) }, fail, hear }))
      }
      Promise.all(Array.from({ length: subscribers }, join)).catch(reject)
    })
  } finally {
    for (const subscription of open) subscription.close()
  }
  return bytes
}

function cursorOf(message: Buffer): number {
  let at = message.indexOf(cursorKey) + cursorKey.length
  let cursor = 0
  for (let digit = message[at]; digit !== undefined && digit !== quote; digit = message[at]) {
    cursor = cursor * 10 + digit - zero
    at += 1
  }
  return cursor
}

/** Seconds until so many plain sockets have had so many bytes each. */
async function pourOver(port: number, sockets: number, bytes: number): Promise<number> {
  const began = performance.now()
  await Promise.all(
    Array.from(
      { length: sockets },
      () =>
        new Promise<void>((resolve, reject) => {
          let left = Math.round(bytes)
          const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(String(left)))
          socket.on('error', reject)
          socket.on('data', ({ length }) => {
            left -= length
            if (left > 0) return
            socket.destroy()
            resolve()
          })
        }),
    ),
  )
  return (performance.now() - began) / 1000
}

async function revisionOf(url: string): Promise<number> {
  return Number((await ask<{ revision: string }>(`${url}/graphql`, '{ revision }')).revision)
}

/** Seconds. */
async function readOnce(sql: postgres.Sql, after: number): Promise<number> {
  const began = performance.now()
  await sql`select * from change_log where last_revision > ${after} order by first_revision`
  return (performance.now() - began) / 1000
}

/** Rows of the log that PostgreSQL has handed out so far; its counters come late. */
async function rowsRead(sql: postgres.Sql): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  const [row] = await sql<{ rows: number }[]>`
    select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as rows from pg_stat_user_tables where relname like 'change_log%'`
  return row?.rows ?? 0
}
