/**
 * What an edge machine gives up for a server: memory, and the processor time from its start to the first acknowledged report. It is the package, with the
 * environment of deploy/, and not the checkout, which takes 50 MB and a second more.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeTemplate } from '../../../src/server/build/build.ts'
import { buildPrograms } from '../../support/runner/built.ts'
import { atMost, type Bench, type Claim, stated } from '../harness/bench.ts'
import { openConnections } from '../harness/clients/http-connection.ts'
import { type Subscription, subscribe } from '../harness/clients/subscription.ts'
import { buildReports, createFleet, type Fleet } from '../harness/fleet.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { type Spread, spread } from '../harness/statistics.ts'

const devices = 10_000
const connections = 32
/** Subscriptions of the overview. */
const live = ['subscription { deploymentCounts { cursor counts { failed installed } } }']

export const footprint: Bench = {
  name: 'footprint',
  title: `memory of a server with ${devices.toLocaleString('en-US')} devices and the page open, and the processor time of its start`,
  async run(lab) {
    const reports = buildReports(devices)
    const enough = lab.isQuick ? 20_000 : 100_000
    const postgres = await lab.postgres()
    const script = await buildPackage()
    const measured = new Map<string, number[]>()
    const note = (name: string, value: number): void => void measured.set(name, [...(measured.get(name) ?? []), value])

    /** Reports until that many are acknowledged, while the page is open. Notes the memory at times. */
    async function use(program: Program, fleet: Fleet, name: string, count: number): Promise<void> {
      const page = await openPage(program)
      const open = await openConnections(program.port, connections)
      for (const part of [0.25, 0.5, 0.75, 1]) {
        await Promise.all(
          open.map(async (connection, index) => {
            while (fleet.acknowledged < count * part) {
              const problem = fleet.check(index, await connection.send(fleet.next(index)))
              if (problem) throw new Error(problem)
            }
          }),
        )
        note(`${name}, after ${count * part} reports`, megabytes(program.memory()))
      }
      for (const connection of open) connection.close()
      for (const subscription of page) subscription.close()
    }

    for (let round = 0; round < lab.rounds; round += 1) {
      const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
      const url = await postgres.create('footprint')
      try {
        for (const [name, env, count] of [
          ['embedded, first start', { DATA_DIR: folder }, enough],
          ['embedded, later start', { DATA_DIR: folder }, 0],
          ['PostgreSQL', { DATABASE_URL: url }, enough],
        ] as const) {
          const nothing = await startProgram({ script: 'test/bench/floors/listen.ts' })
          const bare = nothing.cpu()
          note('Node alone', megabytes(nothing.memory()))
          await nothing.stop()
          const program = await startRollcall({ MALLOC_TRIM_THRESHOLD_: '131072', ...env }, undefined, script)
          try {
            const fleet = createFleet(reports, connections)
            const [connection] = await openConnections(program.port, 1)
            await connection?.send(fleet.next(0))
            connection?.close()
            note(`${name}, processor time until the first report ÷ Node alone`, program.cpu() / bare)
            note(`${name}, processor time until the first report`, program.cpu())
            note(`${name}, idle`, megabytes(program.memory()))
            if (count > 0) await use(program, fleet, name, count)
            else for (const subscription of await openPage(program)) subscription.close()
            note(`${name}, at the end`, megabytes(program.memory()))
          } finally {
            await program.stop()
          }
        }
      } finally {
        rmSync(folder, { recursive: true, force: true })
        await postgres.drop('footprint')
      }
    }
    const aims: Readonly<Record<string, number>> = {
      'embedded, first start, at the end': 350,
      'embedded, later start, at the end': 300,
      'PostgreSQL, at the end': 220,
    }
    const claims = [...measured].map(([name, values]) => claimOf(name, spread(values), aims[name]))
    return { rows: [], claims, notes: ['resident memory in MiB, processor time in s'], wrong: [] }
  },
}

function claimOf(name: string, values: Spread, aim: number | undefined): Claim {
  if (aim !== undefined) return atMost(name, values, aim, 'MiB')
  return stated(name, values, name.includes('÷') ? '×' : name.includes('time') ? 's' : 'MiB')
}

const megabytes = (bytes: number): number => bytes / 1024 / 1024

/** The program that starts the server. */
export async function buildPackage(): Promise<string> {
  const dist = join(await buildPrograms(), 'dist')
  makeTemplate(dist)
  return join(dist, 'main.js')
}

/** As a browser does. */
export async function openPage({ url, port }: Program): Promise<readonly Subscription[]> {
  const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
  for (const [, asset] of page.matchAll(/(?:src|href)="(assets\/[^"]+)"/g))
    await (await fetch(`${url}/${asset}`)).text()
  const fail = (problem: string): never => {
    throw new Error(problem)
  }
  return Promise.all(live.map((query) => subscribe({ port, query, hear: () => undefined, fail })))
}
