/**
 * Many screens that ask the same while the fleet goes on reporting. An answer is stale when its revision is older than
 * the last report that was acknowledged before the request left: there must be none.
 */
import { atLeast, atMost, type Bench } from '../harness/bench.ts'
import { ask, buildQuery } from '../harness/clients/graphql.ts'
import { openConnection } from '../harness/clients/http-connection.ts'
import { closedLoop, WrongAnswer } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf } from '../harness/rounds.ts'
import { seedFleet } from '../harness/seed.ts'
import { spread } from '../harness/statistics.ts'

const deployments = 100_000
const clients = 64
const reportsPerSecond = 10
/** Devices, of the first that were seeded: all of them PENDING. */
const reporting = 1_000

const query = `query Dashboard {
  revision
  deploymentCounts { total pending installing installed failed }
  deployments(first: 50) { nodes { deploymentId state components { name state } } }
}`

export const dashboard: Bench = {
  name: 'dashboard',
  title: `${clients} clients ask the same while ${reportsPerSecond} reports a second arrive; ${deployments.toLocaleString('en-US')} deployments stored`,
  async run(lab) {
    const database = await lab.postgres()
    const url = await database.create('dashboard')
    await seedFleet(url, deployments)
    const server = await startRollcall({ DATABASE_URL: url })
    const floor = await startProgram({ script: 'test/bench/floors/static.ts' })
    await runDuties(server, lab)
    // Not before: a server closes connections that are idle.
    const reporter = await openConnection(server.port)
    const fleet = createFleet(buildReports(reporting), 1)
    // They were seeded with their first report.
    for (let device = 0; device < reporting; device += 1) fleet.report(device)
    let acknowledged = 0
    let reports = 0
    let stale = 0
    let answers = 0
    try {
      const answer = await ask<object>(`${server.url}/graphql`, query)
      await fetch(`${floor.url}/body`, { method: 'POST', body: JSON.stringify({ data: answer }) })
      const request = buildQuery('/graphql', query, {})
      /** What was acknowledged when each client's request left. */
      const known = new Float64Array(clients)

      const report = async (): Promise<void> => {
        const told = await reporter.send(fleet.next(0))
        const problem = fleet.check(0, told)
        if (problem) throw new WrongAnswer(problem)
        acknowledged = Number((JSON.parse(told.body.toString()) as { revision: string }).revision)
        reports += 1
      }
      const measureOurs = async (isWarmUp: boolean) => {
        let failure: unknown = null
        let underWay = Promise.resolve()
        const timer = setInterval(() => {
          underWay = underWay.then(report).catch((error: unknown) => {
            failure = error
          })
        }, 1000 / reportsPerSecond)
        const load = {
          connections: clients,
          next(client: number) {
            known[client] = acknowledged
            return request
          },
          check(client: number, { status, body }: { status: number; body: Buffer }) {
            const revision = revisionOf(body)
            if (status !== 200 || revision === null) return `${status} ${body.toString().slice(0, 300)}`
            answers += 1
            if (revision < (known[client] ?? 0)) stale += 1
            return null
          },
        }
        const sample = await closedLoop(load, { server, database }, isWarmUp ? 2 : lab.seconds).finally(() =>
          clearInterval(timer),
        )
        await underWay
        if (failure) throw failure
        return sample
      }
      // The client examines these answers, too: on two cores it would otherwise have more time for them.
      const bare = {
        connections: clients,
        next: () => request,
        check: (_: number, { body }: { body: Buffer }) =>
          revisionOf(body) === null ? 'an answer without a revision' : null,
      }
      const samples = await interleave(
        { ours: measureOurs, floor: (isWarmUp) => closedLoop(bare, { server: floor }, isWarmUp ? 1 : lab.seconds) },
        lab.rounds,
      )
      return {
        rows: rowsOf(samples, 'queries/s'),
        claims: [
          atLeast('ours ÷ floor (static bytes of the same length)', ratio(samples.ours, samples.floor), 0.7),
          atMost('stale answers', spread([stale]), 0, 'answers'),
        ],
        notes: [`${answers.toLocaleString('en-US')} answers were held against ${reports} reports`],
        wrong: stale > 0 ? [`${stale} answers were older than a report that had been acknowledged`] : [],
      }
    } finally {
      reporter.close()
      await Promise.all([server, floor].map((program) => program.stop()))
      await database.drop('dashboard')
    }
  },
}

const beginning = Buffer.from('{"data":{"revision":"')
const end = Buffer.from(']}}}')

/** Null: not the whole answer, or one with errors. The client shares the cores with the server, so it does not search the answer. */
function revisionOf(body: Buffer): number | null {
  const start = beginning.length
  if (!body.subarray(0, start).equals(beginning) || !body.subarray(-end.length).equals(end)) return null
  return Number(body.toString('latin1', start, body.indexOf('"', start)))
}
