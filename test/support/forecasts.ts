/** The forecast of each rollout, computed from the log alone: change after change, without SQL. docs/insight.md has the method. */
import { expect } from 'vitest'
import { forecast, startsKept } from '../../src/domain/insight/forecast.ts'
import { randomFrom } from '../../src/domain/insight/random.ts'
import type { Durations } from '../../src/domain/insight/survival.ts'
import type { Database } from '../../src/store/database.ts'

interface Entry {
  readonly rollout: number | null
  readonly name: string | null
  readonly deployment: number | null
  readonly from: string | null
  readonly to: string | null
  readonly last: number
  readonly at: number
}

interface Step {
  readonly state: string
  readonly at: number
  /** Null: it is open. */
  readonly endedAt: number | null
  readonly next: string | null
}

interface Answer {
  readonly name: string
  readonly [percent: string]: unknown
}

/** The published number of peers. */
const mostPeers = 5
const percents = [50, 90, 100] as const

/**
 * Of rollouts of one application, whose deployments stay in them. Compares the forecasts after each quarter of the log with those that the API
 * answers to `ask`. Returns the number of forecasts that are times, not reasons.
 */
export async function expectForecasts(
  { session }: Pick<Database, 'session'>,
  ask: (query: string) => Promise<{ readonly rollouts: { readonly nodes: readonly Answer[] } }>,
): Promise<number> {
  const log = await session.run<Entry>(
    `select rollout_key as rollout, rollouts.name, deployment_key as deployment, from_state as "from", to_state as "to", last_revision::float8 as last,
       (extract(epoch from at) * 1000)::float8 as at
     from change_log left join rollouts on rollouts.key = rollout_key and deployment_key is not null order by first_revision`,
  )
  let times = 0
  for (const part of [0.25, 0.5, 0.75, 1]) {
    const known = log.slice(0, Math.ceil(part * log.length))
    const { last, at: now } = known.at(-1) ?? expect.unreachable()
    const fields = percents.map(
      (percent) => `_${percent}: timeTo(percent: ${percent}) { at low high basis reason from }`,
    )
    const { rollouts } = await ask(
      `{ rollouts(first: 100, atRevision: "${last}") { nodes { name ${fields.join(' ')} } } }`,
    )
    const expected = forecastsFrom(known, now, last)
    expect(rollouts.nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(expected)
    times += expected.filter(({ _100: eta }) => (eta as { at: string | null }).at !== null).length
  }
  return times
}

function forecastsFrom(log: readonly Entry[], now: number, revision: number): Answer[] {
  const byRollout = Map.groupBy(
    log.filter(({ deployment, from, to }) => deployment !== null && from !== to),
    ({ rollout }) => rollout ?? expect.unreachable(),
  )
  const keys = [...byRollout.keys()].toSorted((a, b) => a - b)
  const steps = new Map([...byRollout].map(([key, entries]) => [key, stepsOf(entries)]))
  const answers = keys.map((key, place): Answer => {
    const own = steps.get(key) ?? []
    const peers = keys.slice(Math.max(place - mostPeers, 0), place).toReversed()
    const progress = {
      total: new Set(byRollout.get(key)?.map(({ deployment }) => deployment)).size,
      own: durationsOf(own, now),
      peers: {
        waits: peers.flatMap((peer) => durationsOf(steps.get(peer) ?? [], now).waits),
        runs: peers.flatMap((peer) => durationsOf(steps.get(peer) ?? [], now).runs),
      },
      starts: own
        .flatMap(({ state, endedAt, next }) =>
          state === 'PENDING' && next === 'INSTALLING' && endedAt !== null ? [Math.max(now - endedAt, 1)] : [],
        )
        .toSorted((a, b) => a - b)
        .slice(0, startsKept),
    }
    const from = new Date(now).toISOString()
    const of = percents.map((percent) => {
      const found = forecast(progress, percent, randomFrom(key + revision))
      const none = { at: null, low: null, high: null, basis: null, reason: null, from }
      if ('reason' in found) return [`_${percent}`, { ...none, ...found }]
      const time = (left: number) => new Date(now + left).toISOString()
      const { at, low, high, basis } = found
      return [`_${percent}`, { ...none, at: time(at), low: time(low), high: time(high), basis }]
    })
    return { name: byRollout.get(key)?.[0]?.name ?? '', ...Object.fromEntries(of) }
  })
  return answers.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function stepsOf(entries: readonly Entry[]): Step[] {
  const steps: Step[] = []
  for (const passages of Map.groupBy(entries, ({ deployment }) => deployment).values())
    for (const [index, { to, at }] of passages.entries()) {
      const ending = passages[index + 1]
      const isUnderWay = to === 'PENDING' || to === 'INSTALLING' || to === 'REMOVING'
      if (isUnderWay && ending?.to !== null)
        steps.push({ state: to, at, endedAt: ending?.at ?? null, next: ending?.to ?? null })
    }
  return steps
}

/** Durations of similar length are one group with their mean. */
function durationsOf(steps: readonly Step[], now: number): { waits: Durations[]; runs: Durations[] } {
  const of = (isWait: boolean): Durations[] => {
    const lasting = steps
      .filter(({ state }) => (state === 'PENDING') === isWait)
      .map(({ at, endedAt }) => ({ isOpen: endedAt === null, millis: Math.max((endedAt ?? now) - at, 1) }))
    const groups = Map.groupBy(lasting, ({ isOpen, millis }) => `${isOpen} ${Math.floor(Math.log(millis) * 24)}`)
    return [...groups.values()].map((group) => ({
      isOpen: group[0]?.isOpen ?? false,
      n: group.length,
      millis: group.reduce((sum, { millis }) => sum + millis, 0) / group.length,
    }))
  }
  return { waits: of(true), runs: of(false) }
}
