/**
 * What grows while nothing should: two servers take reports, subscribers come and go, and each minute one server is killed
 * and started again. The other one is watched: its memory, its descriptors and its subscribers.
 *
 * Memory is compared by the lowest value of each minute: between two collections it says nothing. The first third warms up.
 */
import { readdirSync } from 'node:fs'
import { atLeast, atMost, type Bench, type Lab, stated } from '../harness/bench.ts'
import { type HttpConnection, openConnection } from '../harness/clients/http-connection.ts'
import type { RawSocket } from '../harness/clients/websocket.ts'
import { buildReports, createFleet, type Fleet } from '../harness/fleet.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { slopeOf, spread } from '../harness/statistics.ts'
import { type Farewell, farewells, openSubscription, visit, visitorDocument } from '../harness/visitors.ts'

const devices = 1_000
const residents = 400
/** In 30 minutes: 50,000. */
const visitsPerMinute = 1_667
/** Visitors that are on their way at once, most of them at the server that stays. */
const visitorLanes = 16
const reportLanes = 6
/** Reports a second of a lane. */
const pace = 20
/** One visitor of so many falls silent: the server finds out after two heartbeats. */
const silentEach = 50

interface Sample {
  readonly minute: number
  readonly resident: number
  readonly descriptors: number
}

interface Pair {
  readonly stays: Program
  /** Null: it was killed, and is not back yet. */
  isKilled: Program | null
  isOver: boolean
  readonly wrong: string[]
  readonly counts: { reports: number; visits: number; kills: number; updates: number }
  /** Visitors that fell silent. */
  readonly silent: RawSocket[]
}

export const soak: Bench = {
  name: 'soak',
  title: 'reports, subscribers that come and go, and a server that is killed each minute',
  async run(lab) {
    const database = await lab.postgres()
    const env = { DATABASE_URL: await database.create('soak') }
    const pair: Pair = {
      stays: await startRollcall(env),
      isKilled: await startRollcall(env),
      isOver: false,
      wrong: [],
      counts: { reports: 0, visits: 0, kills: 0, updates: 0 },
      silent: [],
    }
    const { stays, counts, wrong } = pair
    const fleet = createFleet(buildReports(devices), reportLanes)
    try {
      const settled = await Promise.all(
        Array.from({ length: residents }, (_, number) =>
          openSubscription(stays.port, visitorDocument(number), () => (counts.updates += 1)),
        ),
      )
      for (const { closed } of settled)
        void closed.then(() => pair.isOver || wrong.push('a subscriber of the server that stays was cut off'))
      const work = Promise.all([
        ...Array.from({ length: reportLanes }, (_, lane) => report(pair, fleet, lane)),
        ...Array.from({ length: visitorLanes }, (_, lane) => comeAndGo(pair, lane)),
      ])
      const samples = await watch(lab, pair, env)
      pair.isOver = true
      await work
      for (const resident of settled) resident.close()
      const left = await untilNone(stays)
      const warm = samples.filter(({ minute }) => minute >= lab.minutes / 3)
      const half = warm.length / 2
      const minima = lowestOfMinutes(warm)
      const [early, late] = [minima.slice(0, minima.length / 2), minima.slice(Math.ceil(minima.length / 2))]
      const median = (values: readonly number[]) => spread(values).median
      const descriptors = (some: readonly Sample[]) => median(some.map((one) => one.descriptors))
      const one = (value: number) => spread([value])
      return {
        rows: [],
        claims: [
          atMost('memory, second ÷ first half after the warm-up', one(median(late) / median(early)), 1.05),
          atMost('descriptors, the same', one(descriptors(warm.slice(half)) / descriptors(warm.slice(0, half))), 1.05),
          atMost('subscribers after all had left or fallen silent', one(left), 0, 'subscribers'),
          atLeast('visitors of those planned', one(counts.visits / (lab.minutes * visitsPerMinute)), 0.9),
          stated('memory', spread(minima), 'MiB'),
          stated('growth of memory after the warm-up', one(slopeOf(minima)), 'MiB/min'),
          stated('descriptors', spread(warm.map((sample) => sample.descriptors)), ''),
        ],
        notes: [
          `${lab.minutes} minutes; ${counts.reports.toLocaleString('en-US')} reports, ${counts.visits.toLocaleString('en-US')} visitors, ${counts.updates.toLocaleString('en-US')} updates to ${residents} subscribers that stayed, ${counts.kills} kills`,
          `clients left in turn by ${farewells.join(', ')}`,
        ],
        wrong: wrong.slice(0, 5),
      }
    } finally {
      pair.isOver = true
      for (const socket of pair.silent) socket.close()
      await Promise.all([stays, pair.isKilled].map((program) => program?.stop()))
      await database.drop('soak')
    }
  },
}

/** Samples the server that stays, and kills the other one each minute. */
async function watch(lab: Lab, pair: Pair, env: Readonly<Record<string, string>>): Promise<Sample[]> {
  const samples: Sample[] = []
  const began = performance.now()
  let nextKill = 1
  let starting = Promise.resolve()
  for (let minute = 0; minute < lab.minutes; minute = (performance.now() - began) / 60_000) {
    await pause(2_000)
    const { pid, memory } = pair.stays
    samples.push({ minute, resident: memory() / 2 ** 20, descriptors: readdirSync(`/proc/${pid}/fd`).length })
    if (minute < nextKill) continue
    nextKill += 1
    if (!pair.isKilled) continue
    process.kill(pair.isKilled.pid, 'SIGKILL')
    pair.isKilled = null
    pair.counts.kills += 1
    lab.say(
      `  minute ${Math.floor(minute)}: ${Math.round(samples.at(-1)?.resident ?? 0)} MiB, ${JSON.stringify(pair.counts)}`,
    )
    starting = restart(pair, env)
  }
  await starting
  return samples
}

/** A busy machine may need several attempts. */
async function restart(pair: Pair, env: Readonly<Record<string, string>>): Promise<void> {
  while (!pair.isKilled && !pair.isOver) pair.isKilled = await startRollcall(env).catch(() => null)
}

/** A third of the lanes report to the server that is killed. */
async function report(pair: Pair, fleet: Fleet, lane: number): Promise<void> {
  let connection: HttpConnection | null = null
  while (!pair.isOver) {
    const program = lane % 3 === 0 ? pair.isKilled : pair.stays
    try {
      if (!program) throw new Error('it is not back yet')
      connection ??= await openConnection(program.port)
      const answer = await connection.send(fleet.next(lane))
      const problem = answer.status === 503 ? null : fleet.check(lane, answer)
      if (problem) pair.wrong.push(problem)
      else pair.counts.reports += 1
    } catch (error) {
      connection?.close()
      connection = null
      if (program === pair.stays) pair.wrong.push(`the server that stays: ${error}`)
    }
    await pause(1_000 / pace)
  }
  connection?.close()
}

/** Every fourth lane visits the server that is killed. */
async function comeAndGo(pair: Pair, lane: number): Promise<void> {
  const { counts, silent, wrong } = pair
  const began = performance.now()
  for (let number = lane; !pair.isOver; number += visitorLanes) {
    const due = began + (number / visitsPerMinute) * 60_000
    await pause(due - performance.now())
    const program = lane % 4 === 0 ? pair.isKilled : pair.stays
    if (!program) continue
    try {
      const socket = await visit(program.port, number, farewellOf(number))
      counts.visits += 1
      if (socket) silent.push(socket)
    } catch (error) {
      if (program === pair.stays && !pair.isOver) wrong.push(`a visitor of the server that stays: ${error}`)
    }
  }
}

function farewellOf(number: number): Farewell {
  if (number % silentEach === 0) return 'silence'
  return farewells[Math.floor(number / visitorLanes) % (farewells.length - 1)] ?? 'end'
}

/** The subscribers that a server counts, when there are none or after a minute. */
async function untilNone({ url }: Program): Promise<number> {
  let left = Number.NaN
  for (let second = 0; second < 60 && left !== 0; second += 1) {
    const text = await (await fetch(`${url}/metrics`)).text()
    const lines = text.split('\n').filter((line) => line.startsWith('rollcall_subscribers{'))
    left = lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    await pause(1_000)
  }
  return left
}

function lowestOfMinutes(samples: readonly Sample[]): number[] {
  const minutes = Map.groupBy(samples, ({ minute }) => Math.floor(minute))
  return [...minutes.values()].map((own) => Math.min(...own.map(({ resident }) => resident)))
}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(time, 0)))
}
