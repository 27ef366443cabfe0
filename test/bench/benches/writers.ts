/** What more servers on one database cost or gain: the same load on one, two and four of them, on shared cores and on cores of their own. */
import postgres from 'postgres'
import { atLeast, atMost, type Bench, type Claim, type Lab } from '../harness/bench.ts'
import { type Answer, buildRequest } from '../harness/clients/http-connection.ts'
import { closedLoop, type Load, type Measured } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import { buildReports, createFleet, type Fleet } from '../harness/fleet.ts'
import type { BenchPostgres } from '../harness/postgres.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { limitShare } from '../harness/processor-share.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'

const connections = 64
const devices = 2_048
const counts = [1, 2, 4] as const
/** Reports that each server takes first. V8 compiles what was called often enough, and of four servers each has a quarter of the calls. */
const warmUp = 30_000

export const writers: Bench = {
  name: 'writers',
  title: `${connections} connections report to 1, 2 and 4 servers on one PostgreSQL: changes of known deployments, and first reports`,
  async run(lab) {
    const database = await lab.postgres()
    const reports = buildReports(devices)
    const groups: Group[] = []
    try {
      for (const count of counts) groups.push(await startGroup(database, count, createFleet(reports, connections)))
      for (const group of groups) await introduce(group)
      const variants = groups.flatMap((group): [string, (isWarmUp: boolean) => Promise<Sample>][] => {
        const measure = (reports: Pick<Load, 'next' | 'check'>) => async (isWarmUp: boolean) => {
          const { next, check } = reports
          const sample = await closedLoop({ connections, next, check }, group.measured, secondsOf(lab, isWarmUp))
          await calm(group, lab)
          return sample
        }
        return [
          [`changes, ${group.count}`, measure(group.fleet)],
          [`births, ${group.count}`, measure(group.births)],
        ]
      })
      const samples = await interleave(Object.fromEntries(variants), lab.rounds)
      const of = (kind: string, count: number): readonly Sample[] => samples[`${kind}, ${count}`] ?? []
      const cpu = (sample: Sample): number => sample.serverCpu + (sample.databaseCpu ?? 0)
      const claims = counts.flatMap((count): Claim[] => [
        atLeast(`births ÷ changes, ${count}`, ratio(of('births', count), of('changes', count)), 0.7),
        ...(count === 1
          ? []
          : [
              atLeast(`changes, ${count} servers ÷ 1`, ratio(of('changes', count), of('changes', 1)), 0.95),
              atLeast(`births, ${count} servers ÷ 1`, ratio(of('births', count), of('births', 1)), 0.95),
              atMost(`CPU a change, ${count} servers ÷ 1`, ratio(of('changes', count), of('changes', 1), cpu), 1.3),
            ]),
      ])
      const wrong = (await Promise.all(groups.map(findMissing))).flat()
      return { rows: rowsOf(samples, 'reports/s'), claims, notes: [], wrong }
    } finally {
      await Promise.all(groups.flatMap(({ programs }) => programs.map((program) => program.stop())))
      for (const { name } of groups) await database.drop(name)
    }
  },
}

/** Of a core, for each server: so little that PostgreSQL is not what limits them. */
const share = 0.25

export const ownCores: Bench = {
  name: 'own-cores',
  title: `${connections} connections report to 1 and 2 servers, each with ${share} of a core of its own`,
  async run(lab) {
    const { groups: folder } = lab
    if (folder === null)
      return {
        rows: [],
        claims: [],
        notes: ['not measured: it needs --groups, and the right to add groups'],
        wrong: [],
      }
    const database = await lab.postgres()
    const reports = buildReports(devices)
    const groups: Group[] = []
    const limits: (() => void)[] = []
    try {
      for (const count of [1, 2]) groups.push(await startGroup(database, count, createFleet(reports, connections)))
      for (const group of groups) await introduce(group)
      for (const { programs } of groups) for (const { pid } of programs) limits.push(limitShare(folder, pid, share))
      const samples = await interleave(
        Object.fromEntries(
          groups.map(({ count, fleet, measured }) => {
            const load = { connections, next: fleet.next, check: fleet.check }
            return [`changes, ${count}`, (isWarmUp: boolean) => closedLoop(load, measured, secondsOf(lab, isWarmUp))]
          }),
        ),
        lab.rounds,
      )
      const of = (count: number): readonly Sample[] => samples[`changes, ${count}`] ?? []
      const claims = [atLeast('changes, 2 servers ÷ 1', ratio(of(2), of(1)), 1.5)]
      const wrong = (await Promise.all(groups.map(findMissing))).flat()
      return { rows: rowsOf(samples, 'reports/s'), claims, notes: [], wrong }
    } finally {
      await Promise.all(groups.flatMap(({ programs }) => programs.map((program) => program.stop())))
      for (const remove of limits) remove()
      for (const { name } of groups) await database.drop(name)
    }
  },
}

interface Group {
  readonly name: string
  readonly url: string
  readonly count: number
  readonly programs: readonly Program[]
  readonly measured: Measured
  readonly fleet: Fleet
  readonly births: Births
}

async function startGroup(database: BenchPostgres, count: number, fleet: Fleet): Promise<Group> {
  const name = `writers_${count}`
  const url = await database.create(name)
  const programs = await Promise.all(Array.from({ length: count }, () => startRollcall({ DATABASE_URL: url })))
  const cpu = (): number => programs.reduce((sum, program) => sum + program.cpu(), 0)
  const server = { port: programs.map(({ port }) => port), cpu }
  return { name, url, count, programs, measured: { server, database }, fleet, births: createBirths() }
}

async function introduce({ count, fleet, measured }: Group): Promise<void> {
  const load = { connections, next: fleet.next, check: fleet.check }
  while (fleet.acknowledged < count * warmUp) await closedLoop(load, measured, 1)
}

/** Duties wait for the reports to pause. Those of one group would run beside the reports of the next. */
async function calm({ programs: [first] }: Group, lab: Lab): Promise<void> {
  if (first) await runDuties(first, { ...lab, say: () => undefined })
}

interface Births extends Pick<Load, 'next' | 'check'> {
  readonly acknowledged: number
}

/** Each report is the first of its device. */
function createBirths(): Births {
  let sent = 0
  let acknowledged = 0
  return {
    next() {
      sent += 1
      const components = ['database', 'web'].map((name) => ({ name, state: 'pending' }))
      const about = { apiVersion: 'deployment.margo/v1', kind: 'DeploymentStatus', deploymentId: `new-${sent}` }
      const body = JSON.stringify({ ...about, status: { state: 'pending' }, components })
      return buildRequest('POST', `/device/new-${sent}/deployment/new-${sent}/status`, body)
    },
    check(_, { status, body }: Answer) {
      if (status !== 201) return `a first report was answered with ${status} ${body.toString()}`
      acknowledged += 1
      return null
    },
    get acknowledged() {
      return acknowledged
    },
  }
}

function secondsOf(lab: Lab, isWarmUp: boolean): number {
  return isWarmUp ? 1 : lab.seconds
}

/** Every acknowledged report is kept exactly once, and revisions have no gap. */
async function findMissing({ url, fleet, births, count }: Group): Promise<string[]> {
  const sql = postgres(url, { max: 1 })
  try {
    const acknowledged = fleet.acknowledged + births.acknowledged
    const [kept] = await sql<{ count: number }[]>`select count(*)::int as count from reports where verdict = 'APPLIED'`
    const [head] = await sql<{ used: number }[]>`select (revision - epoch_base)::int as used from log_head`
    return [
      ...(kept?.count === acknowledged
        ? []
        : [`${count} servers: ${acknowledged} were acknowledged, ${kept?.count} kept`]),
      ...(head?.used === 3 * acknowledged
        ? []
        : [`${count} servers: ${acknowledged} reports made ${head?.used} changes`]),
    ]
  } finally {
    await sql.end()
  }
}
