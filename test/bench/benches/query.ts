/** What a frontend asks, each time with other variables: a page of deployments, a rollout, one deployment with its history. */
import { atLeast, type Bench, stated } from '../harness/bench.ts'
import { ask, buildFreshQuery, buildQuery } from '../harness/clients/graphql.ts'
import { closedLoop } from '../harness/closed-loop.ts'
import { deepDifference } from '../harness/difference.ts'
import { runDuties } from '../harness/duties.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf } from '../harness/rounds.ts'
import { perRollout, seededDeployment, seedFleet } from '../harness/seed.ts'
import { type Dialect, ours, postgraphile } from './query-documents.ts'

const deployments = 100_000
const connections = 32
/** Different variables of each kind. */
const variations = 1_000
const pages = 100

interface Variant {
  readonly program: Program
  readonly url: string
  readonly requests: readonly Buffer[]
  /** The same, and never twice the same bytes. */
  readonly fresh: readonly (() => Buffer)[]
  readonly sample: readonly unknown[]
}

export const query: Bench = {
  name: 'query',
  title: `a page of 50 deployments, a rollout, a deployment with history, in turn; ${deployments.toLocaleString('en-US')} deployments stored, ${connections} connections`,
  async run(lab) {
    const database = await lab.postgres()
    const url = await database.create('query')
    await seedFleet(url, deployments)
    const env = { DATABASE_URL: url }
    const programs = {
      ours: await startRollcall(env),
      floor: await startProgram({ script: 'test/bench/floors/reads.ts', env }),
      mercurius: await startProgram({ script: 'test/bench/peers/mercurius.ts', env }),
      postgraphile: await startProgram({ script: 'test/bench/peers/postgraphile.ts', env }),
      yoga: await startProgram({ script: 'test/bench/peers/yoga.ts', env }),
    }
    try {
      await runDuties(programs.ours, lab)
      const { audit } = await ask<{ audit: { drift: unknown[] } }>(
        `${programs.ours.url}/graphql`,
        '{ audit { drift { scope field counted recounted } } }',
      )
      const wrong = audit.drift.map((drift) => `the seeded counters differ: ${JSON.stringify(drift)}`)
      const variants = {
        ours: await prepare(programs.ours, ours),
        floor: await prepare(programs.floor, ours),
        mercurius: await prepare(programs.mercurius, ours),
        postgraphile: await prepare(programs.postgraphile, postgraphile),
        yoga: await prepare(programs.yoga, ours),
      }
      for (const [name, { sample }] of Object.entries(variants)) {
        const difference = deepDifference(variants.ours.sample, sample)
        if (difference) wrong.push(`${name} answers otherwise than ours: ${difference}`)
      }
      const measure =
        ({ program, requests, fresh }: Variant, isAskedBefore = false) =>
        (isWarmUp: boolean) => {
          let turn = 0
          const load = {
            connections,
            next() {
              const number = turn++ % requests.length
              return (isAskedBefore ? requests[number] : fresh[number]?.()) ?? Buffer.alloc(0)
            },
            check: (_: number, { status, body }: { status: number; body: Buffer }) =>
              status !== 200 || body.includes('"errors"') ? `${status} ${body.toString().slice(0, 300)}` : null,
          }
          // An answer is kept when it has been asked for twice.
          const warmUp = isAskedBefore ? 15 : 2
          return closedLoop(load, { server: program, database }, isWarmUp ? warmUp : lab.seconds)
        }
      const samples = await interleave(
        {
          ours: measure(variants.ours),
          'ours, asked before': measure(variants.ours, true),
          floor: measure(variants.floor),
          mercurius: measure(variants.mercurius),
          postgraphile: measure(variants.postgraphile),
          yoga: measure(variants.yoga),
        },
        lab.rounds,
      )
      return {
        rows: rowsOf(samples, 'queries/s'),
        claims: [
          atLeast('ours ÷ floor (node:http, one statement by postgres.js)', ratio(samples.ours, samples.floor), 0.6),
          atLeast('ours ÷ Mercurius with JIT', ratio(samples.ours, samples.mercurius), 1),
          atLeast('ours ÷ PostGraphile 5', ratio(samples.ours, samples.postgraphile), 2),
          stated('ours ÷ stock Yoga', ratio(samples.ours, samples.yoga)),
          stated(
            'what was asked before, nothing written since ÷ floor',
            ratio(samples['ours, asked before'], samples.floor),
          ),
        ],
        notes: [
          'floor, Mercurius and Yoga answer each query from one hand-written statement',
          'answers were compared with ours',
          'no question is asked twice, but in “asked before”, where ours answers from memory',
        ],
        wrong,
      }
    } finally {
      await Promise.all(Object.values(programs).map((program) => program.stop()))
      await database.drop('query')
    }
  },
}

/** Its requests, built once, and the answers to a few of them in a form that all variants share. */
async function prepare(program: Program, dialect: Dialect): Promise<Variant> {
  const url = `${program.url}/graphql`
  const cursors: (string | null)[] = [null]
  const sample: unknown[] = []
  for (let page = 0; page < pages; page += 1) {
    const data = await ask<never>(url, dialect.page, { after: cursors.at(-1) ?? null })
    const { nodes, next } = dialect.readPage(data)
    if (page % 20 === 0) sample.push(nodes)
    cursors.push(next)
  }
  const operations = Array.from({ length: variations }, (_, index) => {
    const number = (index * 7919) % deployments
    const { deploymentId, deviceId } = seededDeployment(number, deployments)
    return {
      page: { after: cursors[index % pages] },
      rollout: dialect.rolloutVariables(`app-${number % (deployments / perRollout)}`),
      deployment: { id: deploymentId, device: deviceId },
    }
  })
  for (const operation of operations.slice(0, 5)) {
    sample.push(dialect.readRollout(await ask<never>(url, dialect.rollout, operation.rollout)))
    sample.push(dialect.readDeployment(await ask<never>(url, dialect.deployment, operation.deployment)))
  }
  const asked = operations.flatMap(({ page, rollout, deployment }) => [
    [dialect.page, page] as const,
    [dialect.rollout, rollout] as const,
    [dialect.deployment, deployment] as const,
  ])
  const requests = asked.map(([document, variables]) => buildQuery('/graphql', document, variables))
  const fresh = asked.map(([document, variables]) => buildFreshQuery('/graphql', document, variables))
  return { program, url, requests, fresh, sample }
}
