/** One attack by all systems that a server asks: phases in which each is good or hostile, and in the end all are good again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stall, Vitals } from '../attacker/monitor.ts'
import { createRandom, type Random } from '../attacker/random.ts'
import { startTarget } from '../attacker/target.ts'
import { createOutages } from './outages.ts'
import { type Plant, startPlant } from './plant.ts'
import { startWork } from './work.ts'

interface AttackOptions {
  readonly seed: number
  /** Milliseconds of all phases, and of one. */
  readonly time: number
  readonly phase: number
  /** Of the server: its database. */
  readonly env: Readonly<Record<string, string>>
  /** What every system does in all phases. Absent: by seed. */
  readonly only?: string
  readonly progress?: (text: string) => void
}

interface SeenStall extends Stall {
  /** What was hostile then. */
  readonly modes: string
}

export interface Findings {
  readonly exits: number
  readonly rejections: number
  readonly stalls: readonly SeenStall[]
  /** Bytes, after collecting garbage. */
  readonly samples: readonly Pick<Vitals, 'rss' | 'heap' | 'external'>[]
  readonly mostRss: number
  /** What is said twice, and what should not be in the log. */
  readonly problems: readonly string[]
  /** What is not back although all systems are good. */
  readonly lasting: readonly string[]
  /** By system: requests or connections. */
  readonly asked: Readonly<Record<string, number>>
  readonly outages: Readonly<Record<string, number>>
}

const toldStalls = 5
/** Milliseconds between two measurements, and in which everything has to be back. */
const [sampled, settling] = [30_000, 150_000]

export async function attackOutbound(options: AttackOptions): Promise<Findings> {
  const { seed, time, phase, env, only, progress = () => {} } = options
  const random = createRandom(seed)
  const plant = await startPlant(createRandom(seed + 1))
  const outages = createOutages()
  let stalls: SeenStall[] = []
  let [modes, isBegun] = ['', false]
  let [rejections, mostRss] = [0, 0]
  const samples: Findings['samples'][number][] = []
  const problems: string[] = []
  const target = await startTarget(
    { ...env, ...plant.env, LOG_LEVEL: 'info' },
    (stall) => {
      if (isBegun) stalls = [...stalls, { ...stall, modes }].toSorted((a, b) => b.cpu - a.cpu).slice(0, toldStalls)
    },
    (line) => line.startsWith('{') && outages.take(line),
  )
  async function look(question: 'tell' | 'collect' = 'tell'): Promise<void> {
    const vitals = await target.vitals(question)
    mostRss = Math.max(mostRss, vitals.rss)
    rejections = vitals.rejections
    if (question === 'collect') samples.push({ rss: vitals.rss, heap: vitals.heap, external: vitals.external })
  }
  const watch = setInterval(() => look().catch(() => undefined), 1_000)

  try {
    const work = await startWork(target.url, plant, random)
    await work.round()
    isBegun = true
    const begin = performance.now()
    let nextSample = begin + Math.min(sampled, time / 4)
    while (performance.now() < begin + time && target.end() === null) {
      modes = changeModes(plant, random, only)
      progress(modes)
      for (const end = performance.now() + phase; performance.now() < end && target.end() === null; )
        await Promise.race([Promise.all([work.round(), sleep(100)]), sleep(phase)])
      if (performance.now() < nextSample) continue
      nextSample = performance.now() + sampled
      await look('collect')
    }
    for (const front of Object.values(plant.fronts)) front.set('good')
    modes = 'all are good again'
    progress(modes)
    const lasting = target.end() === null ? await settle(work) : []
    if (target.end() === null) await look('collect')
    if (target.end() !== null) problems.push(String(target.end()))
    const accepted = Object.entries(plant.fronts).flatMap(([name, front]) =>
      front.accepted.map((certificate) => `${name} was asked over a connection that showed the ${certificate}`),
    )
    // The service names the authority of the one in good answers, and of the other in none.
    if ([...work.admitted].join() !== 'known')
      problems.push(`clients of the identity service that were admitted: ${[...work.admitted]}`)
    return {
      exits: target.end() === null ? 0 : 1,
      ...{ rejections, stalls, samples, mostRss, lasting },
      problems: [...problems, ...outages.problems, ...accepted],
      asked: Object.fromEntries(Object.entries(plant.fronts).map(([name, { asked }]) => [name, asked])),
      outages: outages.counts,
    }
  } finally {
    clearInterval(watch)
    await target.stop()
    await plant.stop()
  }

  /** Until everything is back. Returns what is not. */
  async function settle(work: Awaited<ReturnType<typeof startWork>>): Promise<readonly string[]> {
    for (const end = performance.now() + settling; ; ) {
      await work.retry()
      await work.round()
      await sleep(1_000)
      const left = [...outages.open(), ...(await work.failing())]
      if (left.length === 0 || performance.now() > end || target.end() !== null) return left
    }
  }
}

/** Returns who is hostile, and how. */
function changeModes({ fronts }: Plant, random: Random, only: string | undefined): string {
  const hostile: string[] = []
  for (const [name, front] of Object.entries(fronts)) {
    const known = front.faults
    const drawn = random.chance(45) ? 'good' : random.chance(45) ? 'any' : random.choose(known)
    const mode = only === undefined ? drawn : known.includes(only) || only === 'any' ? only : 'good'
    front.set(mode)
    if (mode !== 'good') hostile.push(`${name}: ${mode}`)
  }
  return hostile.join(', ')
}
