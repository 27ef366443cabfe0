/** The same questions and reports, asked of ten thousand deployments, of a hundred thousand, and (with --large) of a million. */
import { atMost, type Bench, type Claim, type Lab, type Row } from '../harness/bench.ts'
import { closedLoop } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { buildFreshQuery } from '../harness/graphql.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'
import { seededDeployment, seedFleet } from '../harness/seed.ts'

const connections = 16
/** Devices that report: those of the seeded fleet that come first. */
const reporting = 2_000

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
    const rows: Row[] = []
    const claims: Claim[] = []
    try {
      for (const size of sizes) {
        const url = await database.create(`growth_${size}`)
        await seedFleet(url, size)
        const server = await startRollcall({ DATABASE_URL: url })
        servers.set(size, server)
        await runDuties(server, lab)
      }
      for (const what of [...Object.keys(documents), 'reports'] as (keyof typeof documents | 'reports')[]) {
        const variants: Record<string, (isWarmUp: boolean) => Promise<Sample>> = {}
        for (const size of sizes) {
          const server = servers.get(size)
          if (server)
            variants[`${what}, ${size}`] =
              what === 'reports' ? reports(lab, server) : questions(lab, server, what, size)
        }
        const samples = await interleave(variants, lab.rounds)
        rows.push(...rowsOf(samples, what === 'reports' ? 'reports/s' : 'queries/s'))
        const [smallest = 0, largest = 0] = [sizes[0], sizes.at(-1)]
        const of = (size: number): readonly Sample[] => samples[`${what}, ${size}`] ?? []
        claims.push(atMost(`${what}: time of ${largest} ÷ of ${smallest}`, ratio(of(smallest), of(largest)), 1.3))
      }
      return { rows, claims, notes: ['no question is asked twice'], wrong: [] }
    } finally {
      await Promise.all([...servers.values()].map((server) => server.stop()))
      for (const size of sizes) await database.drop(`growth_${size}`)
    }
  },
}

function questions(lab: Lab, server: Program, what: keyof typeof documents, size: number) {
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
  return (isWarmUp: boolean) => closedLoop(load, { server }, isWarmUp ? 1 : lab.seconds)
}

/** Of deployments that are there beside the seeded ones: the same number in each fleet. */
function reports(lab: Lab, server: Program) {
  const fleet = createFleet(buildReports(reporting), connections)
  const load = {
    connections,
    next: fleet.next,
    check: (connection: number, answer: Parameters<typeof fleet.check>[1]) =>
      answer.status === 201 ? null : fleet.check(connection, answer),
  }
  return (isWarmUp: boolean) => closedLoop(load, { server }, isWarmUp ? 2 : lab.seconds)
}
