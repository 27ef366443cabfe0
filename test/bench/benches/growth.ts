/** The same questions and reports, asked of ten thousand deployments, of a hundred thousand, and (with --large) of a million. */
import type { Bench, Lab } from '../harness/bench.ts'
import { measureBySize, reports } from '../harness/by-size.ts'
import { buildFreshQuery } from '../harness/clients/graphql.ts'
import { closedLoop } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import type { Measure } from '../harness/rounds.ts'
import { seededDeployment, seedFleet } from '../harness/seed.ts'

const connections = 16

const documents = {
  counts: '{ deploymentCounts { total pending installing installed failed } }',
  'first page': '{ deployments(first: 50) { nodes { deploymentId state components { name state } } } }',
  history: `query ($id: String!, $device: String!) {
    deployment(deploymentId: $id, deviceId: $device) { state history(first: 20) { nodes { revision kind } } }
  }`,
}

export const growth: Bench = {
  name: 'growth',
  title: 'counts, a first page, one deployment’s history and reports, of fleets of different sizes',
  async run(lab) {
    const database = await lab.postgres()
    const sizes = lab.isLarge ? [10_000, 100_000, 1_000_000] : [10_000, 100_000]
    const servers = new Map<number, Program>()
    try {
      for (const size of sizes) {
        const url = await database.create(`growth_${size}`)
        await seedFleet(url, size)
        const server = await startRollcall({ DATABASE_URL: url })
        servers.set(size, server)
        await runDuties(server, lab)
      }
      const found = await measureBySize(lab, {
        sizes,
        of: 'deployments',
        units: { counts: 'queries/s', 'first page': 'queries/s', history: 'queries/s', reports: 'reports/s' },
        measure(what, size) {
          const server = servers.get(size)
          if (!server) throw new Error(`no server has ${size} deployments`)
          return what === 'reports' ? reports(lab, { server }) : questions(lab, server, what, size)
        },
      })
      return { ...found, notes: ['no question is asked twice'], wrong: [] }
    } finally {
      await Promise.all([...servers.values()].map((server) => server.stop()))
      for (const size of sizes) await database.drop(`growth_${size}`)
    }
  },
}

function questions(lab: Lab, server: Program, what: keyof typeof documents, size: number): Measure {
  const asked = Array.from({ length: 500 }, (_, index) => {
    const { deploymentId: id, deviceId: device } = seededDeployment((index * 7919) % size, size)
    return buildFreshQuery('/graphql', documents[what], what === 'history' ? { id, device } : {})
  })
  let turn = 0
  const load = {
    connections,
    next: () => asked[turn++ % asked.length]?.() ?? Buffer.alloc(0),
    check: (_: number, { status, body }: { status: number; body: Buffer }) =>
      status !== 200 || body.includes('"errors"') ? `${status} ${body.toString().slice(0, 300)}` : null,
  }
  return (isWarmUp) => closedLoop(load, { server }, isWarmUp ? 1 : lab.seconds)
}
