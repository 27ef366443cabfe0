/** The same reports, resumes and questions about the past, of a fleet whose log has a million entries, and (with --large) fifty million. */
import type { Bench, Lab } from '../harness/bench.ts'
import { measureBySize, reports } from '../harness/by-size.ts'
import { ask, buildFreshQuery } from '../harness/clients/graphql.ts'
import { type Subscription, subscribe } from '../harness/clients/subscription.ts'
import { closedLoop, WrongAnswer } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import {
  deploymentOf,
  entriesOf,
  installingAfter,
  type LongLog,
  longLog,
  seedLongLog,
  stateAfter,
  timeOf,
} from '../harness/long-log.ts'
import type { BenchPostgres } from '../harness/postgres.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import type { Measure } from '../harness/rounds.ts'

const deployments = 20_000
const connections = 16
const resuming = 8
/** Changes that a subscriber has missed. */
const missed = 1_000

interface Subject {
  readonly log: LongLog
  readonly server: Program
  readonly database: BenchPostgres
  /** The revision before the first entry. */
  readonly base: number
}

const documents = {
  'counts of the past': 'query ($at: DateTime!) { deploymentCounts(asOf: $at) { total installing installed } }',
  'a deployment of the past': `query ($at: DateTime!, $id: String!, $device: String!) {
    deployment(deploymentId: $id, deviceId: $device, asOf: $at) { state }
  }`,
  'a first page of the past': `query ($at: DateTime!) {
    deployments(first: 50, asOf: $at) { nodes { deploymentId state } }
  }`,
}

export const logGrowth: Bench = {
  name: 'log-growth',
  title: 'reports, resumes and questions about the past, of logs of different length',
  async run(lab) {
    const database = await lab.postgres()
    const sizes = lab.isLarge ? [1_000_000, 50_000_000] : [200_000, 1_000_000]
    const subjects = new Map<number, Subject>()
    try {
      for (const size of sizes) {
        const url = await database.create(`log_growth_${size}`)
        const log = longLog(deployments, size)
        const began = performance.now()
        await seedLongLog(url, log, lab.say)
        lab.say(`  ${size} entries after ${Math.round((performance.now() - began) / 1000)} s`)
        const server = await startRollcall({ DATABASE_URL: url })
        const { history } = await ask<{ history: { newestRevision: string } }>(
          `${server.url}/graphql`,
          '{ history { newestRevision } }',
        )
        subjects.set(size, { log, server, database, base: Number(history.newestRevision) - entriesOf(log) })
        await runDuties(server, lab)
      }
      const found = await measureBySize(lab, {
        sizes,
        of: 'entries',
        units: {
          'counts of the past': 'queries/s',
          'a deployment of the past': 'queries/s',
          'a first page of the past': 'queries/s',
          resumes: 'resumes/s',
          reports: 'reports/s',
        },
        measure(what, size) {
          const subject = subjects.get(size)
          if (!subject) throw new Error(`no log has ${size} entries`)
          if (what === 'reports') return reports(lab, subject)
          return what === 'resumes' ? resumes(lab, subject) : questions(lab, subject, what)
        },
      })
      return { ...found, notes: [], wrong: [] }
    } finally {
      await Promise.all([...subjects.values()].map(({ server }) => server.stop()))
      for (const size of sizes) await database.drop(`log_growth_${size}`)
    }
  },
}

/** About moments anywhere in the log, each another one. */
function questions(lab: Lab, { log, server, database }: Subject, what: keyof typeof documents): Measure {
  const expected: string[] = []
  const load = {
    connections,
    next(connection: number) {
      const entry = deployments + Math.floor(Math.random() * (entriesOf(log) - deployments))
      const { deploymentId: id, deviceId: device } = deploymentOf(log, entry)
      const at = timeOf(log, entry)
      const installing = installingAfter(log, entry)
      expected[connection] =
        what === 'counts of the past'
          ? `"installing":${installing},"installed":${deployments - installing}`
          : what === 'a deployment of the past'
            ? `{"state":"${stateAfter(log, entry)}"}`
            : '"deploymentId"'
      return buildFreshQuery(
        '/graphql',
        documents[what],
        what === 'a deployment of the past' ? { at, id, device } : { at },
      )()
    },
    check: (connection: number, { status, body }: { status: number; body: Buffer }) =>
      status !== 200 || !body.includes(expected[connection] ?? '')
        ? `${status} ${body.toString().slice(0, 300)}, expected ${expected[connection]}`
        : null,
  }
  return (isWarmUp) => closedLoop(load, { server, database }, isWarmUp ? 1 : lab.seconds)
}

/** Each subscriber has missed the last changes, and leaves when it has them. */
function resumes(lab: Lab, { log, server, database, base }: Subject): Measure {
  return async (isWarmUp) => {
    let [resumed, isOver] = [0, false]
    const read = () => ({
      time: performance.now(),
      server: server.cpu(),
      database: database.cpu(),
      client: process.cpuUsage(),
    })
    const before = read()
    const work = async (): Promise<void> => {
      while (!isOver) {
        await resume(server.port, base + entriesOf(log) - missed)
        resumed += 1
      }
    }
    const timer = setTimeout(
      () => {
        isOver = true
      },
      (isWarmUp ? 1 : lab.seconds) * 1000,
    )
    await Promise.all(Array.from({ length: resuming }, work)).finally(() => clearTimeout(timer))
    const after = read()
    const seconds = (after.time - before.time) / 1000
    const { user, system } = process.cpuUsage(before.client)
    return {
      rate: resumed / seconds,
      serverCpu: ((after.server - before.server) / resumed) * 1e6,
      databaseCpu: ((after.database - before.database) / resumed) * 1e6,
      clientCpu: (user + system) / 1e6 / seconds,
    }
  }
}

const query = 'subscription ($after: Revision) { changes(after: $after) { cursor reset { reason } } }'

/** Until the subscriber has the changes that it has missed, each once and in order. */
function resume(port: number, after: number): Promise<void> {
  let seen = after
  let subscription: Promise<Subscription> | null = null
  return new Promise<void>((resolve, reject) => {
    subscription = subscribe({
      port,
      query,
      variables: { after: String(after) },
      hear(message) {
        const { payload } = JSON.parse(message.toString()) as {
          payload: { data: { changes: { cursor: string; reset: object | null } } }
        }
        const { cursor, reset } = payload.data.changes
        if (reset || Number(cursor) !== seen + 1) return reject(new WrongAnswer(`${cursor} after ${seen}`))
        seen = Number(cursor)
        if (seen === after + missed) resolve()
      },
      fail: (problem) => reject(new WrongAnswer(problem)),
    })
    subscription.catch(reject)
  }).finally(async () => (await subscription)?.close())
}
