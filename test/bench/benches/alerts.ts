/** What 1,000 alert rules cost the reports of a fleet: two servers with equal fleets, of which one has the rules. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { atLeast, type Bench, stated } from '../harness/bench.ts'
import { WrongAnswer } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'
import { perRollout, seededDeployment, seedFleet } from '../harness/seed.ts'
import { medianInterval, spread } from '../harness/statistics.ts'
import { connections, startReporting } from './ingest.ts'

interface Rule {
  readonly name: string
  readonly metric: 'FAILED' | 'SUCCESS_RATE'
  readonly unit: 'COUNT' | 'PERCENT'
  readonly threshold: number
  readonly perRollout: boolean
}

/** Half of the FAILED deployments report. In each rollout, 10 of 100 remain FAILED, so the first of `failed` fires for each rollout. */
const rules: readonly Rule[] = [
  ...thresholds('failed', 500, (n) => ({ metric: 'FAILED', unit: 'COUNT', threshold: 10 + n, perRollout: true })),
  ...thresholds('rate', 300, (n) => ({
    ...{ metric: 'SUCCESS_RATE', unit: 'PERCENT' },
    ...{ threshold: (n + 1) / 10, perRollout: true },
  })),
  ...thresholds('fleet', 200, (n) => ({
    ...{ metric: 'FAILED', unit: 'PERCENT' },
    ...{ threshold: (n + 1) / 2, perRollout: false },
  })),
]

/** The difference is smaller than that of two rounds on a shared machine. */
const manyRounds = 40

/** Seconds after the load until the alerts must fit, and before it until the rules were compared with the whole fleet. */
const [patience, sweeping] = [120, 1_200]

export const alerts: Bench = {
  name: 'alerts',
  title: `reports to a server with ${rules.length.toLocaleString('en-US')} alert rules, and to one without; PostgreSQL`,
  async run(lab) {
    const deployments = lab.isQuick ? 20_000 : 100_000
    const postgresServer = await lab.postgres()
    const [ruled, plain] = await Promise.all([postgresServer.create('alerts'), postgresServer.create('alerts_none')])
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
    const file = join(folder, 'rules.yaml')
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ rules }))
    await seedFleet(ruled, deployments)
    await seedFleet(plain, deployments)
    const servers: Program[] = []
    const sql = postgres(ruled, { max: 1 })
    try {
      const start = async (env: Readonly<Record<string, string>>): Promise<Program> => {
        const server = await startRollcall(env)
        servers.push(server)
        return server
      }
      const withRules = await start({ DATABASE_URL: ruled, ALERT_RULES: file })
      const isSettled = async (): Promise<boolean> =>
        (await owedChecks(sql)) === 0 && (await findWrong(sql)).length === 0
      const swept = await until(sweeping, isSettled)
      const without = await start({ DATABASE_URL: plain })
      for (const server of servers) await runDuties(server, lab)
      const reports = buildReports(deployments / 10, (number) => failedDeployment(number, deployments))
      const one = startReporting(lab, withRules, createFleet(reports, connections), postgresServer)
      const other = startReporting(lab, without, createFleet(reports, connections), postgresServer)
      await one.introduce()
      await other.introduce()
      await until(sweeping, isSettled)
      lab.say(`  ${rules.length} rules are compared with ${deployments / perRollout} rollouts`)
      const rounds = lab.isQuick ? lab.rounds : manyRounds
      const samples = await interleave({ 'with rules': one.measure, without: other.measure }, rounds)
      const compare = (pick: (sample: Sample) => number): readonly number[] =>
        samples['with rules'].map((sample, round) => pick(sample) / pick(samples.without[round] ?? sample))
      await until(patience, async () => (await findWrong(sql)).length === 0)
      const [firing] = await sql<{ n: number }[]>`select count(*)::int as n from alerts where resolved_revision is null`
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          atLeast('with rules ÷ without', ratio(samples['with rules'], samples.without), 0.95),
          stated('server CPU', spread(compare(({ serverCpu }) => serverCpu))),
          stated('database CPU', spread(compare(databaseOf))),
          stated('CPU of both', spread(compare((one) => one.serverCpu + databaseOf(one)))),
        ],
        notes: [
          `95 % intervals of the medians: reports ${shown(compare(({ rate }) => rate))}, CPU of both ${shown(compare((one) => one.serverCpu + databaseOf(one)))}`,
          `the new rules had looked at all rollouts, and their alerts had been raised, ${swept.toFixed(1)} s after the server had started`,
          `${deployments.toLocaleString('en-US')} deployments; ${firing?.n} alerts fired after the load, as the counters demand`,
        ],
        wrong: await findWrong(sql),
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
      await sql.end()
      await Promise.all(['alerts', 'alerts_none'].map((name) => postgresServer.drop(name)))
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** The seed makes each fifth deployment of a rollout FAILED. */
function failedDeployment(number: number, deployments: number) {
  const rollouts = deployments / perRollout
  return seededDeployment((4 + 5 * Math.floor(number / rollouts)) * rollouts + (number % rollouts), deployments)
}

function thresholds(name: string, count: number, rule: (n: number) => Omit<Rule, 'name'>): Rule[] {
  return Array.from({ length: count }, (_, n) => ({ name: `${name} ${n}`, ...rule(n) }))
}

async function owedChecks(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from alert_checks`
  return row?.n ?? 0
}

/** Alerts that fire and should not, or the reverse, according to the deployments themselves. */
async function findWrong(sql: postgres.Sql): Promise<string[]> {
  const scopes = await sql<{ rollout: number; total: number; failed: number; installed: number }[]>`
    select coalesce(rollout_key, 0)::float8 as rollout, count(*)::int as total, count(*) filter (where state = 'FAILED')::int as failed,
      count(*) filter (where state = 'INSTALLED')::int as installed
    from deployments group by grouping sets ((rollout_key), ())`
  const firing = await sql<{ rule: string; rollout: number }[]>`
    select rule, rollout_key::float8 as rollout from alerts where resolved_revision is null`
  const found = new Set(firing.map(({ rule, rollout }) => `${rule} of ${rollout}`))
  const expected = new Set<string>()
  for (const { rollout, total, failed, installed } of scopes)
    for (const { name, metric, unit, threshold, perRollout: isOfRollout } of rules) {
      if (isOfRollout !== (rollout !== 0)) continue
      const count = unit === 'PERCENT' ? (100 * failed) / total : failed
      const isBreached =
        metric === 'FAILED'
          ? count >= threshold
          : installed + failed > 0 && (100 * installed) / (installed + failed) < threshold
      if (isBreached) expected.add(`${name} of ${rollout}`)
    }
  return [
    ...[...expected.difference(found)].map((one) => `missing: alert ${one}`),
    ...[...found.difference(expected)].map((one) => `wrong: alert ${one}`),
  ].slice(0, 5)
}

/** Returns the seconds that it took. */
async function until(seconds: number, isReached: () => Promise<boolean>): Promise<number> {
  const began = performance.now()
  const end = began + seconds * 1_000
  while (!(await isReached())) {
    if (performance.now() > end) throw new WrongAnswer(`the alerts do not fit the fleet after ${seconds} s`)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  return (performance.now() - began) / 1_000
}

const databaseOf = ({ databaseCpu }: Sample): number => databaseCpu ?? Number.NaN

function shown(ratios: readonly number[]): string {
  const [low, high] = medianInterval(ratios) ?? []
  return low === undefined || high === undefined ? 'unknown' : `${low.toFixed(3)} to ${high.toFixed(3)}`
}
