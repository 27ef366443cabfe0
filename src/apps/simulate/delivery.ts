/**
 * The deliveries of reports. Most are sent at once. Some are sent twice, some late, so that a later one overtakes them, and some lose
 * their answer. Reports that a device creates while it is offline are sent later as one backlog. Pure, and endless.
 */
import { generationOf, type Marks, type Report } from './bodies.ts'
import type { SimulatedDeployment } from './fleet.ts'
import { createRandom } from './random.ts'
import { playScript } from './script.ts'

export interface Delivery {
  /** Milliseconds after the start. */
  readonly at: number
  readonly report: Report
  /** The sender is offline until `at`. The report is sent with the others that wait. */
  readonly isHeld: boolean
  /** The first answer is lost, so the report is sent again. */
  readonly losesAnswer: boolean
}

export interface Network {
  /** When the reporter is online again. Null: it is online. */
  offlineUntil(reporter: string, at: number): number | null
  /** A reporter that was offline may have restarted: its sequence number then starts again. */
  bootOf(reporter: string, at: number): string
}

interface Spell {
  readonly from: number
  readonly until: number
  readonly isRestart: boolean
}

const second = 1_000

/** `reliable`: the number of reporters that are never offline. */
export function createNetwork(seed: number, reliable = 0.8): Network {
  const spells = new Map<string, { readonly list: Spell[]; readonly source: Iterator<Spell> }>()

  /** All periods that begin before `at`. */
  function until(reporter: string, at: number): readonly Spell[] {
    const known = spells.get(reporter) ?? { list: [], source: spellsOf(reporter, seed, reliable) }
    spells.set(reporter, known)
    for (let last = known.list.at(-1); !last || last.from <= at; last = known.list.at(-1)) {
      const { value, done } = known.source.next()
      if (done) break
      known.list.push(value)
    }
    return known.list.filter(({ from }) => from <= at)
  }

  return {
    offlineUntil: (reporter, at) => until(reporter, at).find((spell) => at < spell.until)?.until ?? null,
    bootOf: (reporter, at) =>
      `boot-${until(reporter, at).filter((spell) => spell.isRestart && spell.until <= at).length + 1}`,
  }
}

/** Most networks are reliable. */
export function* spellsOf(reporter: string, seed: number, reliable: number): Generator<Spell> {
  const random = createRandom(`${seed}/network/${reporter}`)
  if (random.chance(reliable)) return
  for (let at = 0; ; ) {
    const from = at + random.between(20, 240) * second
    at = from + random.skewed(25) * second
    yield { from, until: at, isRestart: random.chance(0.4) }
  }
}

/** `clockOf`: converts milliseconds after the start to the true time. */
export function* planDeliveries(
  deployment: SimulatedDeployment,
  seed: number,
  network: Network,
  clockOf: (at: number) => number,
): Generator<Delivery, never> {
  const random = createRandom(`${seed}/delivery/${deployment.rollout.name}/${deployment.device.deviceId}`)
  const { reporter, clockError } = deployment.device
  const pending: Delivery[] = []
  let boot = ''
  let seq = 0
  for (const step of playScript(deployment, seed)) {
    pending.sort((a, b) => a.at - b.at)
    for (let first = pending[0]; first && first.at <= step.at; first = pending[0]) {
      pending.shift()
      yield first
    }
    const running = network.bootOf(reporter, step.at)
    seq = running === boot ? seq + 1 : 1
    boot = running
    const report = { deployment, step, seq, boot, clock: Math.round(clockOf(step.at) + clockError) }
    pending.push(...deliver(report, step.at))
  }
  throw new Error('a script never ends')

  function connected(at: number): number {
    return network.offlineUntil(reporter, at) ?? at
  }

  function* deliver(report: Report, madeAt: number): Generator<Delivery> {
    const usual = { report, isHeld: false, losesAnswer: random.chance(0.03) }
    const overtaken = random.chance(0.04)
    const sentTwice = random.chance(0.04)
    const delay = random.between(0.02, 0.4) * second
    const back = network.offlineUntil(reporter, madeAt)
    if (back !== null) {
      yield { ...usual, at: back, isHeld: true, losesAnswer: false }
      return
    }
    // Reports without an ordering key wait for the previous answer, because the server cannot order them.
    const isMarked = hasMarks(generationOf(report).marks(report))
    const at = connected(madeAt + delay + (overtaken && isMarked ? random.between(5, 15) * second : 0))
    yield { ...usual, at }
    const again = connected(at + (isMarked ? random.between(1, 8) : 0.01) * second)
    if (sentTwice) yield { ...usual, at: again, losesAnswer: false }
  }
}

function hasMarks({ seq, observedAt }: Marks): boolean {
  return seq !== null || observedAt !== null
}
