/** The same on the embedded store: the database computes in a thread of the server's own process. */
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atLeast, type Bench } from '../harness/bench.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf } from '../harness/rounds.ts'
import { spread } from '../harness/statistics.ts'
import { connections, devices, startReporting } from './ingest.ts'

export const ingestEmbedded: Bench = {
  name: 'ingest-embedded',
  title: 'the same on PGlite, in a data directory synced, or with DURABILITY=relaxed',
  async run(lab) {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
    const reports = buildReports(devices)
    const script = 'test/bench/floors/insert.ts'
    const server = await startRollcall({ DATA_DIR: join(folder, 'store') })
    const relaxed = await startRollcall({ DATA_DIR: join(folder, 'relaxed'), DURABILITY: 'relaxed' })
    const floor = await startProgram({ script, env: { DATA_DIR: join(folder, 'floor') } })
    const single = await startProgram({ script, env: { DATA_DIR: join(folder, 'single'), COMMIT: 'each' } })
    const road = startReporting(lab, server, createFleet(reports, connections))
    const loose = startReporting(lab, relaxed, createFleet(reports, connections))
    const bare = startReporting(lab, floor, createFleet(reports, connections, true))
    const each = startReporting(lab, single, createFleet(reports, connections, true))
    try {
      await road.introduce()
      await loose.introduce()
      const measures = {
        ours: road.measure,
        relaxed: loose.measure,
        floor: bare.measure,
        'one commit a report': each.measure,
      }
      const samples = await interleave(measures, lab.rounds)
      const kept = await countChanges(server.url)
      const { acknowledged } = road.fleet
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          atLeast('ours ÷ relaxed', ratio(samples.ours, samples.relaxed), 0.6),
          atLeast(
            'ours ÷ one commit a report (parses, and an insert of the same bytes, synced)',
            ratio(samples.ours, samples['one commit a report']),
            10,
          ),
          atLeast(
            'relaxed ÷ floor (parses, and one batched insert of the same bytes, not synced)',
            ratio(samples.relaxed, samples.floor),
            0.5,
          ),
        ],
        notes: [
          `${acknowledged.toLocaleString('en-US')} acknowledged reports; the server's CPU includes the database's`,
          `a sync of 8 KiB takes ${syncTime(folder).toFixed(2)} ms on this machine (median)`,
        ],
        wrong:
          kept === acknowledged * 3
            ? []
            : [`${acknowledged} acknowledged reports made ${kept} changes, not three each`],
      }
    } finally {
      await Promise.all([server, relaxed, floor, single].map((program) => program.stop()))
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Milliseconds. */
function syncTime(folder: string): number {
  const file = openSync(join(folder, 'sync'), 'w')
  const page = Buffer.alloc(8_192)
  const times = Array.from({ length: 200 }, (_, n) => {
    const began = performance.now()
    writeSync(file, page, 0, page.length, n * page.length)
    fsyncSync(file)
    return performance.now() - began
  })
  closeSync(file)
  return spread(times).median
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
