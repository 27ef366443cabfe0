/**
 * The memory of a server with the embedded database, hour after hour: a moderate rate of reports, and the page open. Without load, nothing would grow;
 * at the full rate of the machine, the reports that wait would be measured.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atMost, type Bench, stated } from '../harness/bench.ts'
import { openConnections } from '../harness/clients/http-connection.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { startRollcall } from '../harness/process.ts'
import { slopeOf, spread } from '../harness/statistics.ts'
import { buildPackage, openPage } from './footprint.ts'

const devices = 10_000
const connections = 32
const rate = 50
/** Samples a minute. */
const samples = 6

export const hour: Bench = {
  name: 'hour',
  title: `memory of a server with the embedded database at ${rate} reports a second, with the page open`,
  async run(lab) {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
    const program = await startRollcall(
      { MALLOC_TRIM_THRESHOLD_: '131072', DATA_DIR: folder },
      undefined,
      await buildPackage(),
    )
    const wrong: string[] = []
    const measured: number[] = []
    try {
      const fleet = createFleet(buildReports(devices), connections)
      const page = await openPage(program)
      const open = await openConnections(program.port, connections)
      const began = performance.now()
      const until = began + lab.minutes * 60_000
      const reporting = open.map(async (connection, index) => {
        for (let turn = 0; ; turn += 1) {
          const due = began + ((turn * connections + index) / rate) * 1_000
          if (due > until || wrong.length > 5) return
          await pause(due - performance.now())
          const problem = fleet.check(index, await connection.send(fleet.next(index)))
          if (problem) wrong.push(problem)
        }
      })
      for (let sample = 1; sample <= lab.minutes * samples; sample += 1) {
        await pause(began + (sample / samples) * 60_000 - performance.now())
        measured.push(program.memory() / 1024 / 1024)
        if (sample % (10 * samples) === 0)
          lab.say(
            `  minute ${sample / samples}: ${Math.round(measured.at(-1) ?? 0)} MiB, ${fleet.acknowledged} reports`,
          )
      }
      await Promise.all(reporting)
      for (const connection of open) connection.close()
      for (const subscription of page) subscription.close()
      const lowest = Array.from({ length: Math.floor(lab.minutes) }, (_, minute) =>
        Math.min(...measured.slice(minute * samples, (minute + 1) * samples)),
      )
      const part = Math.ceil(lowest.length / 6)
      const parts = Array.from({ length: Math.ceil(lowest.length / part) }, (_, index) => {
        const [from, to] = [index * part, Math.min((index + 1) * part, lowest.length)]
        return stated(`minute ${from + 1} to ${to}`, spread(measured.slice(from * samples, to * samples)), 'MiB')
      })
      // The rows of all devices are in memory after the first third: each has reported several times.
      const warm = lowest.slice(lowest.length / 3)
      return {
        rows: [],
        claims: [
          ...parts,
          atMost('the most after the warm-up', spread([Math.max(...warm)]), 350, 'MiB'),
          atMost('growth after the warm-up', spread([slopeOf(warm) * 60]), 10, 'MiB an hour'),
        ],
        notes: [
          `${lab.minutes} minutes, ${fleet.acknowledged.toLocaleString('en-US')} reports of ${devices.toLocaleString('en-US')} devices`,
        ],
        wrong,
      }
    } finally {
      await program.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(time, 0)))
}
