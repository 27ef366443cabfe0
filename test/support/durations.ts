/** Durations of each rollout, computed from the log alone: change after change, without SQL. */
import { expect } from 'vitest'
import { randomFrom } from '../../src/domain/insight/random.ts'
import { forecastRollout } from '../../src/domain/insight/rollout-forecast.ts'
import type { Database } from '../../src/store/database.ts'
import { outcomesOf } from '../../src/store/read/insight/outcomes.ts'
import { stepsOf } from '../../src/store/read/insight/progress.ts'
import { rolloutsByKey } from '../../src/store/read/rollouts/rollouts.ts'

interface Entry {
  readonly rollout: number
  readonly deployment: number
  readonly from: string | null
  readonly to: string | null
  readonly at: number
}

const isUnderWay = (state: string | null): state is string =>
  ['PENDING', 'INSTALLING', 'REMOVING'].includes(state ?? '')

/** Of deployments that stay in their rollouts. */
export async function expectDurations({ session: own, kind }: Pick<Database, 'session' | 'kind'>): Promise<void> {
  const session = { ...own, kind }
  const log = await session.run<Entry>(
    `select rollout_key as rollout, deployment_key as deployment, from_state as "from", to_state as "to",
       (extract(epoch from at) * 1000)::float8 as at
     from change_log where deployment_key is not null and resource_key is null and to_state is distinct from from_state order by first_revision`,
  )
  expect(log.length).toBeGreaterThan(0)
  for (const [rollout, entries] of Map.groupBy(log, (entry) => entry.rollout)) {
    const ended = new Map<string, number[]>()
    const since = new Map<number, Entry>()
    for (const entry of entries) {
      const before = since.get(entry.deployment)
      if (before && isUnderWay(entry.from) && entry.to !== null) {
        const step = `${entry.from} ${entry.to}`
        ended.set(step, [...(ended.get(step) ?? []), entry.at - before.at])
      }
      since.set(entry.deployment, entry)
    }
    const found = (await outcomesOf(session, [rollout], 'ROLLOUT', null)).get(rollout)?.groups?.[0]?.steps ?? []
    const shown = found.map(({ from, to, count, p50, p90, p95, max }) => [`${from} ${to}`, count, p50, p90, p95, max])
    const expected = [...ended].map(([step, times]) => {
      const sorted = times.toSorted((a, b) => a - b)
      const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1] ?? 0
      return [step, times.length, at(0.5), at(0.9), at(0.95), at(1)]
    })
    expect(rounded(shown)).toEqual(rounded(expected))

    const steps = (await stepsOf(session, [rollout], null)).get(rollout)
    const countOf = (isOpen: boolean, kind: 'waits' | 'runs') =>
      (steps?.own[kind] ?? []).reduce((sum, one) => sum + (one.isOpen === isOpen ? one.n : 0), 0)
    const open = [...since.values()].filter(({ to }) => isUnderWay(to))
    const endedFrom = (isWait: boolean) =>
      [...ended].reduce((sum, [step, { length }]) => sum + (step.startsWith('PENDING') === isWait ? length : 0), 0)
    expect([countOf(true, 'waits'), countOf(true, 'runs'), countOf(false, 'waits'), countOf(false, 'runs')]).toEqual([
      open.filter(({ to }) => to === 'PENDING').length,
      open.filter(({ to }) => to !== 'PENDING').length,
      endedFrom(true),
      endedFrom(false),
    ])
    const counters = (await rolloutsByKey(session, [rollout], null)).get(rollout)?.counters
    if (!steps || !counters) throw new Error('the rollout has no counters')
    const eta = forecastRollout(steps, counters, 100, randomFrom(1))
    const said = 'reason' in eta ? eta.reason : 'a forecast'
    expect(said === 'DONE').toBe(open.length === 0)
    expect(said).not.toBe('EXPIRED')
  }
}

const rounded = (steps: readonly (readonly (string | number)[])[]) =>
  steps.map(([step, ...numbers]) => [step, ...numbers.map((number) => Math.round(Number(number)))].join(' ')).toSorted()
