/** How many reports a second are acknowledged, which means: committed, on the disk, in the log. */
import postgres from 'postgres'
import { atLeast, type Bench, type Lab, stated } from '../harness/bench.ts'
import { closedLoop, type Watched } from '../harness/closed-loop.ts'
import { buildReports, createFleet, deploymentName, type Fleet } from '../harness/fleet.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'

export const devices = 10_000
export const connections = 128

export const ingest: Bench = {
  name: 'ingest',
  title: `${connections} connections POST Margo reports of ${devices.toLocaleString('en-US')} devices, two components each, random names in random order, every report a change; PostgreSQL`,
  async run(lab) {
    const postgres = await lab.postgres()
    const [ours, naive, plain] = await Promise.all([
      postgres.create('ingest'),
      postgres.create('ingest_naive'),
      postgres.create('ingest_floor'),
    ])
    const reports = buildReports(devices)
    const server = await startRollcall({ DATABASE_URL: ours })
    const floor = await startProgram({ script: 'test/bench/floors/insert.ts', env: { DATABASE_URL: plain } })
    const peer = await startProgram({ script: 'test/bench/peers/naive.ts', env: { DATABASE_URL: naive } })
    const road = startReporting(lab, server, createFleet(reports, connections), postgres)
    const bare = startReporting(lab, floor, createFleet(reports, connections, true), postgres)
    const first = startReporting(lab, peer, createFleet(reports, connections), postgres)
    try {
      await road.introduce()
      const samples = await interleave({ ours: road.measure, floor: bare.measure, naive: first.measure }, lab.rounds)
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          atLeast(
            'ours ÷ floor (parses, and one batched insert of the same bytes)',
            ratio(samples.ours, samples.floor),
            0.5,
          ),
          atLeast('ours ÷ naive (a transaction a report)', ratio(samples.ours, samples.naive), 5),
          stated(
            'server CPU, ours ÷ floor',
            ratio(samples.ours, samples.floor, (sample) => sample.serverCpu),
          ),
        ],
        notes: [
          `${road.fleet.acknowledged.toLocaleString('en-US')} acknowledged reports were looked for in the database`,
        ],
        wrong: [...(await findMissing(ours, road.fleet)), ...(await findMissing(naive, first.fleet))],
      }
    } finally {
      await Promise.all([server, floor, peer].map((program) => program.stop()))
      await Promise.all(['ingest', 'ingest_naive', 'ingest_floor'].map((name) => postgres.drop(name)))
    }
  },
}

export interface Reporting {
  readonly fleet: Fleet
  /** Every device's first report: a birth costs more than a change, and is not what is measured. */
  introduce(): Promise<void>
  readonly measure: (isWarmUp: boolean) => Promise<Sample>
}

export function startReporting(lab: Lab, server: Program, fleet: Fleet, database?: Watched): Reporting {
  const load = { connections, next: fleet.next, check: fleet.check }
  return {
    fleet,
    async introduce() {
      while (fleet.acknowledged < devices) await closedLoop(load, { server, database }, 0.5)
    },
    measure: (isWarmUp) => closedLoop(load, { server, database }, isWarmUp ? 1 : lab.seconds),
  }
}

/** Every acknowledged report is kept exactly once, and every deployment is in the state that it reported last. */
async function findMissing(url: string, fleet: Fleet): Promise<string[]> {
  const sql = postgres(url, { max: 1 })
  try {
    const [kept] = await sql<{ count: number }[]>`select count(*)::int as count from reports where verdict = 'APPLIED'`
    const rows = await sql<{ id: string; state: string }[]>`select deployment_id as id, state from deployments`
    const wrong: string[] = []
    if (kept?.count !== fleet.acknowledged)
      wrong.push(`${fleet.acknowledged} reports were acknowledged, and ${kept?.count} were kept`)
    const states = new Map(rows.map(({ id, state }) => [id, state]))
    for (let device = 0; device < devices; device += 1) {
      const expected = fleet.lastState(device)
      const found = states.get(deploymentName(device)) ?? null
      if (found !== expected) wrong.push(`${deploymentName(device)} is ${found} instead of ${expected}`)
    }
    return wrong.slice(0, 5)
  } finally {
    await sql.end()
  }
}
