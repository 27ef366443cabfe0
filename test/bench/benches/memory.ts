/** What an idle subscription takes of the server's memory: of thousands at once, as a single one is lost in the noise. */
import { atMost, type Bench, type Lab, stated } from '../harness/bench.ts'
import { type Subscription, subscribe } from '../harness/clients/subscription.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { type Spread, spread } from '../harness/statistics.ts'

const size = 8_000
/** So many are there before: they fill what a server had taken without using it. */
const warmUp = 2_000

const query = 'subscription { rollout(key: { name: "hot" }) { cursor rollout { name deploymentCounts { total } } } }'

export const memory: Bench = {
  name: 'memory',
  title: `memory of an idle subscription on a WebSocket of its own, ${size.toLocaleString('en-US')} at once`,
  async run(lab) {
    const database = await lab.postgres()
    const wrong: string[] = []
    const kilobytes = { ours: [] as number[], raw: [] as number[], stock: [] as number[] }
    for (let round = 0; round < lab.rounds; round += 1) {
      const url = await database.create('memory')
      const start = {
        ours: () => startRollcall({ DATABASE_URL: url }),
        raw: () => startProgram({ script: 'test/bench/floors/broadcast.ts' }),
        stock: () => startProgram({ script: 'test/bench/peers/graphql-ws.ts', env: { NODE_NO_WARNINGS: '1' } }),
      }
      const names = ['ours', 'raw', 'stock'] as const
      for (const name of round % 2 === 0 ? names : names.toReversed())
        kilobytes[name].push(await weigh(await start[name](), lab, wrong))
      await database.drop('memory')
    }
    const over = (list: readonly number[]): Spread =>
      spread(list.map((value, round) => value / (kilobytes.raw[round] ?? 1)))
    return {
      rows: [],
      claims: [
        atMost('ours ÷ raw ws socket', over(kilobytes.ours), 2),
        stated('stock graphql-ws ÷ raw ws socket', over(kilobytes.stock)),
        stated('ours', spread(kilobytes.ours), 'KiB'),
        stated('raw', spread(kilobytes.raw), 'KiB'),
        stated('stock', spread(kilobytes.stock), 'KiB'),
      ],
      notes: ['resident memory, each time of a fresh process, after everything was said that is said at the beginning'],
      wrong: wrong.slice(0, 5),
    }
  },
}

/** KiB a subscription. */
async function weigh(program: Program, lab: Lab, wrong: string[]): Promise<number> {
  const open: Subscription[] = []
  const gather = async (count: number): Promise<void> => {
    for (let begun = 0; begun < count; begun += 50)
      open.push(
        ...(await Promise.all(
          Array.from({ length: 50 }, () =>
            subscribe({ port: program.port, query, hear: () => undefined, fail: (problem) => wrong.push(problem) }),
          ),
        )),
      )
  }
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, lab.isQuick ? 1_500 : 4_000))
  try {
    await gather(warmUp)
    await settle()
    const before = program.memory()
    await gather(size)
    await settle()
    return (program.memory() - before) / 1024 / size
  } finally {
    for (const subscription of open) subscription.close()
    await program.stop()
  }
}
