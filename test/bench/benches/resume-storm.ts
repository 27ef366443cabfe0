/**
 * A thousand subscribers of all changes lose their connections; ten thousand changes later all come back at once. How often is the backlog read
 * in the database, and does each get every change exactly once?
 */
import postgres from 'postgres'
import { atMost, type Bench, stated } from '../harness/bench.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { ask } from '../harness/graphql.ts'
import { openConnection } from '../harness/http-connection.ts'
import { startRollcall } from '../harness/process.ts'
import { spread } from '../harness/statistics.ts'
import { type Subscription, subscribe } from '../harness/subscription.ts'

const crowd = 1_000
/** In short rounds: with more of them each takes minutes. */
const smallCrowd = 100
/** Reports: each is an entry of three changes. */
const reports = 3_334

/** Milliseconds: ten million deliveries take their time. */
const patience = 1_200_000

const query = 'subscription ($after: Revision) { changes(after: $after) { cursor reset { reason } } }'

export const resumeStorm: Bench = {
  name: 'resume-storm',
  title: `${crowd.toLocaleString('en-US')} subscribers (${smallCrowd} in short rounds) come back at once, ${(reports * 3).toLocaleString('en-US')} changes behind`,
  async run(lab) {
    const database = await lab.postgres()
    const url = await database.create('resume_storm')
    const server = await startRollcall({ DATABASE_URL: url })
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    const wrong: string[] = []
    const rounds: { reads: number; seconds: number; floor: number; cpu: number }[] = []
    const fleet = createFleet(buildReports(reports), 1)
    const subscribers = lab.isQuick ? smallCrowd : crowd
    try {
      const connection = await openConnection(server.port)
      for (let round = 0; round < (lab.isQuick ? 1 : 3); round += 1) {
        const before = await revisionOf(server.url)
        for (let device = 0; device < reports; device += 1) {
          const problem = fleet.check(0, await connection.send(fleet.report(device)))
          if (problem) wrong.push(problem)
        }
        const after = await revisionOf(server.url)
        const floor = await readOnce(sql, before)
        const rowsBefore = await rowsRead(sql)
        const [began, used] = [performance.now(), server.cpu()]
        await storm(server.port, subscribers, before, after, wrong)
        const seconds = (performance.now() - began) / 1000
        const cpu = ((server.cpu() - used) * 1e6) / (subscribers * (after - before))
        rounds.push({ reads: ((await rowsRead(sql)) - rowsBefore) / reports, seconds, floor, cpu })
      }
      connection.close()
      const over = (pick: (round: (typeof rounds)[number]) => number) => spread(rounds.map(pick))
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
            'server CPU for each delivery',
            over(({ cpu }) => cpu),
            'µs',
          ),
          stated(
            'the backlog read once by one statement',
            over(({ floor }) => floor * 1000),
            'ms',
          ),
        ],
        notes: [`each of ${subscribers} subscribers had each of the changes exactly once, in order`],
        wrong: wrong.slice(0, 5),
      }
    } finally {
      await sql.end()
      await server.stop()
      await database.drop('resume_storm')
    }
  },
}

/** Resolves when everybody has everything. */
async function storm(port: number, subscribers: number, after: number, end: number, wrong: string[]): Promise<void> {
  const open: Subscription[] = []
  let missing = subscribers
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${missing} subscribers still miss changes`)), patience)
    const join = async (): Promise<void> => {
      let last = after
      const subscription = await subscribe({
        port,
        query,
        variables: { after: String(after) },
        fail: (problem) => wrong.push(problem),
        hear(message) {
          const text = message.toString('latin1')
          const cursor = Number(/"cursor":"(\d+)"/.exec(text)?.[1])
          if (cursor !== last + 1 || !text.includes('"reset":null'))
            wrong.push(`after ${last} came ${text.slice(0, 200)}`)
          last = cursor
          if (cursor !== end) return
          missing -= 1
          if (missing > 0) return
          clearTimeout(timer)
          resolve()
        },
      })
      open.push(subscription)
    }
    Promise.all(Array.from({ length: subscribers }, join)).catch(reject)
  })
  for (const subscription of open) subscription.close()
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
    select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as rows from pg_stat_user_tables where relname = 'change_log'`
  return row?.rows ?? 0
}
