/** What a report costs, compared with another commit: `--against` names its checkout. Both work in turns, on one PostgreSQL, or embedded. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atLeast, atMost, type Bench, type Finding, type Lab, stated } from '../harness/bench.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { startBenchPostgres } from '../harness/postgres.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { interleave, type Measure, ratio, rowsOf } from '../harness/rounds.ts'
import { spread } from '../harness/statistics.ts'
import { type Written, watchWritten } from '../harness/written.ts'
import { connections, devices, type Reporting, startReporting } from './ingest.ts'

const sides = ['ours', 'theirs'] as const
type Side = (typeof sides)[number]

export const against: Bench = {
  name: 'against',
  title: 'the reports of `ingest`, compared with the commit of --against; PostgreSQL',
  async run(lab) {
    if (lab.against === null) return nothing
    // A page that is logged as a whole depends on when the last checkpoint was.
    const postgres = await startBenchPostgres(['full_page_writes=off', 'checkpoint_timeout=1h'])
    const urls = {
      ours: await postgres.createEmpty('against_ours'),
      theirs: await postgres.createEmpty('against_theirs'),
    }
    const started = await Promise.all(
      sides.map(
        async (side): Promise<[Side, Program]> => [side, await startSide(side, lab, { DATABASE_URL: urls[side] })],
      ),
    )
    const servers = Object.fromEntries(started) as Record<Side, Program>
    const reports = buildReports(devices)
    const written = { ours: watchWritten(urls.ours), theirs: watchWritten(urls.theirs) }
    try {
      const road = (side: Side): Reporting =>
        startReporting(lab, servers[side], createFleet(reports, connections), postgres)
      const roads = { ours: road('ours'), theirs: road('theirs') }
      const wal: Record<Side, number[]> = { ours: [], theirs: [] }
      for (const side of sides) await roads[side].introduce()
      const began = {
        ours: await stateOf(written.ours, roads.ours),
        theirs: await stateOf(written.theirs, roads.theirs),
      }
      const samples = await interleave(
        {
          ours: withWal(roads.ours, written.ours, wal.ours),
          theirs: withWal(roads.theirs, written.theirs, wal.theirs),
        },
        lab.rounds,
      )
      const bytes = async (side: Side): Promise<number> => {
        const ended = await stateOf(written[side], roads[side])
        return (ended.disk - began[side].disk) / (ended.acknowledged - began[side].acknowledged)
      }
      const [disk, entry] = [
        { ours: await bytes('ours'), theirs: await bytes('theirs') },
        { ours: await written.ours.entry(), theirs: await written.theirs.entry() },
      ]
      const one = (value: number) => spread([value])
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          atMost(
            'database CPU',
            ratio(samples.ours, samples.theirs, ({ databaseCpu }) => databaseCpu ?? 0),
            0.65,
          ),
          atMost(
            'server CPU',
            ratio(samples.ours, samples.theirs, ({ serverCpu }) => serverCpu),
            0.9,
          ),
          atLeast('reports a second', ratio(samples.ours, samples.theirs), 1.25),
          atMost('write-ahead log of a report', spread(wal.ours), 1_900, 'bytes'),
          stated('write-ahead log of a report, theirs', spread(wal.theirs), 'bytes'),
          atMost('disk of a report', one(disk.ours), 900, 'bytes'),
          stated('disk of a report, theirs', one(disk.theirs), 'bytes'),
          atMost('an entry of the log and the state before it', one(entry.ours), 900, 'bytes'),
          stated('an entry of the log and the state before it, theirs', one(entry.theirs), 'bytes'),
        ],
        notes: ['without full-page images; also counts what duties write meanwhile'],
        wrong: [],
      }
    } finally {
      await Promise.all([...Object.values(servers).map((server) => server.stop())])
      for (const side of sides) await written[side].close()
      await postgres.dispose()
    }
  },
}

export const againstEmbedded: Bench = {
  name: 'against-embedded',
  title: 'the reports of `ingest-embedded`, with DURABILITY=relaxed, compared with the commit of --against',
  async run(lab) {
    if (lab.against === null) return nothing
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
    const reports = buildReports(devices)
    const start = (side: Side): Promise<Program> =>
      startSide(side, lab, { DATA_DIR: join(folder, side), DURABILITY: 'relaxed' })
    const servers = [await start('ours'), await start('theirs')] as const
    const [ours, theirs] = servers.map((server) => startReporting(lab, server, createFleet(reports, connections)))
    try {
      if (!ours || !theirs) return nothing
      for (const road of [ours, theirs]) await road.introduce()
      const samples = await interleave({ ours: ours.measure, theirs: theirs.measure }, lab.rounds)
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          atLeast('reports a second', ratio(samples.ours, samples.theirs), 1.25),
          stated(
            'CPU of server and database',
            ratio(samples.ours, samples.theirs, ({ serverCpu }) => serverCpu),
          ),
        ],
        notes: [],
        wrong: [],
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

const nothing: Finding = { rows: [], claims: [], notes: ['--against names no checkout'], wrong: [] }

function startSide(side: Side, lab: Lab, env: Readonly<Record<string, string>>): Promise<Program> {
  return side === 'theirs' && lab.against !== null ? startRollcall(env, lab.against) : startRollcall(env)
}

async function stateOf(written: Written, { fleet }: Reporting) {
  return { disk: await written.disk(), acknowledged: fleet.acknowledged }
}

/** Also keeps the bytes of write-ahead log of a report in each round. */
function withWal({ measure, fleet }: Reporting, written: Written, found: number[]): Measure {
  return async (isWarmUp) => {
    const before = { wal: await written.wal(), acknowledged: fleet.acknowledged }
    const sample = await measure(isWarmUp)
    if (!isWarmUp) found.push(((await written.wal()) - before.wal) / (fleet.acknowledged - before.acknowledged))
    return sample
  }
}
