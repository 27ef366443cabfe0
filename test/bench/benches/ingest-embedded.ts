/** The same on the embedded store: the database computes in a thread of the server's own process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atLeast, type Bench } from '../harness/bench.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf } from '../harness/rounds.ts'
import { connections, devices, startReporting } from './ingest.ts'

export const ingestEmbedded: Bench = {
  name: 'ingest-embedded',
  title: 'the same on PGlite, in a data directory (which is not fsynced)',
  async run(lab) {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
    const reports = buildReports(devices)
    const server = await startRollcall({ DATA_DIR: join(folder, 'store') })
    const floor = await startProgram({
      script: 'test/bench/floors/insert.ts',
      env: { DATA_DIR: join(folder, 'floor') },
    })
    const road = startReporting(lab, server, createFleet(reports, connections))
    const bare = startReporting(lab, floor, createFleet(reports, connections, true))
    try {
      await road.introduce()
      const samples = await interleave({ ours: road.measure, floor: bare.measure }, lab.rounds)
      const kept = await countChanges(server.url)
      const { acknowledged } = road.fleet
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          atLeast(
            'ours ÷ floor (parses, and one batched insert of the same bytes)',
            ratio(samples.ours, samples.floor),
            0.5,
          ),
        ],
        notes: [
          `${acknowledged.toLocaleString('en-US')} acknowledged reports; the server's CPU includes the database's`,
        ],
        wrong:
          kept === acknowledged * 3
            ? []
            : [`${acknowledged} acknowledged reports made ${kept} changes, not three each`],
      }
    } finally {
      await Promise.all([server, floor].map((program) => program.stop()))
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** All changes that the log holds: each report made one of its deployment and one of each component. */
async function countChanges(url: string): Promise<number> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ changes(first: 0) { totalCount } }' }),
  })
  const { data } = (await response.json()) as { data: { changes: { totalCount: number } } }
  return data.changes.totalCount
}
