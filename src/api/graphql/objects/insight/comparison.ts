/** Rollouts side by side, each from its own start. */
import { DomainError } from '../../../../domain/errors.ts'
import { hypergeometricTail, logFactorials } from '../../../../domain/insight/exact-tail.ts'
import type { Millis } from '../../../../domain/values.ts'
import type { StateCounts } from '../../../../store/read/counts/deployment-counts.ts'
import type { RolloutRow } from '../../../../store/read/rollouts/rollouts.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { Reader } from '../../execution/loaders/reader.ts'
import { DeploymentCounts } from '../counts.ts'
import { decodeNodeId } from '../node.ts'
import { Rollout } from '../refs.ts'
import { momentsOf, type Point, pointsAt } from '../series/deployment-series.ts'

const most = 5
const shownPoints = 30
/** The probability below which a difference of failures is not explained by chance. */
const significance = 0.01

interface Compared {
  readonly rollout: RolloutRow
  readonly start: number
  readonly points: readonly Point[]
}

interface Comparison {
  readonly rollouts: readonly Compared[]
  /** Seconds. */
  readonly age: number
  readonly isWorse: boolean
  readonly pValue: number
  readonly summary: string
}

const ComparedPoint = builder.objectRef<Point & { readonly start: number }>('ComparedPoint').implement({
  access: 'viewer',
  description: 'The counts of a rollout at a moment after its start.',
  fields: (t) => ({
    seconds: t.float({ description: 'Seconds since its start.', resolve: ({ at, start }) => (at - start) / 1_000 }),
    counts: t.expose('counts', { type: DeploymentCounts, description: 'Its deployments at that moment.' }),
  }),
})

const ComparedRollout = builder.objectRef<Compared>('ComparedRollout').implement({
  access: 'viewer',
  description: 'A rollout in a comparison.',
  fields: (t) => ({
    rollout: t.expose('rollout', { type: Rollout, description: 'The rollout. `outcomes` has its durations.' }),
    startedAt: t.expose('start', { type: 'DateTime', description: 'When it started: second 0 of its points.' }),
    points: t.field({
      type: [ComparedPoint],
      description: `Its counts at ${shownPoints} moments, the same seconds after the start for all rollouts. Moments after the newest change (\`history.newestTime\`) are left out.`,
      resolve: ({ points, start }) => points.map((point) => ({ ...point, start })),
    }),
  }),
})

const RolloutComparison = builder.objectRef<Comparison>('RolloutComparison').implement({
  access: 'viewer',
  description: 'Rollouts side by side, each from its own start.',
  fields: (t) => ({
    rollouts: t.expose('rollouts', { type: [ComparedRollout], description: 'The rollouts, in the order of `ids`.' }),
    age: t.exposeFloat('age', {
      description: 'Seconds after the start at which the first two are compared: the age of the younger one.',
    }),
    isWorse: t.exposeBoolean('isWorse', {
      description:
        'Whether a larger part of the first one had failed than of the second one, beyond chance: `pValue` is at most 0.01.',
    }),
    pValue: t.exposeFloat('pValue', {
      description:
        'The probability of so many failed deployments of the first one, or more, if both were alike (Fisher, one-sided).',
    }),
    summary: t.exposeString('summary', { description: 'The comparison of the first two in words, with its numbers.' }),
  }),
})

builder.objectField(Rollout, 'earlier', (t) =>
  t.field({
    type: [Rollout],
    description:
      'Up to 5 rollouts of the same application before it, the newest first, to compare with. Empty for callers whose access scope has labels.',
    resolve: async ({ key, asOf }, _, context) => {
      const reader = await context.reader()
      const keys = (await reader.earlierRollouts(key)) ?? []
      const rows = await Promise.all(keys.map((earlier) => reader.rollout(earlier, asOf)))
      return rows.flatMap((row) => row ?? [])
    },
  }),
)

builder.queryFields((t) => ({
  compareRollouts: t.field({
    access: 'viewer',
    type: RolloutComparison,
    description: `Compares 2 to ${most} rollouts, each from its own start: the one in question first, the one before it second. All must have started.`,
    args: { ids: t.arg.idList({ required: true, description: 'The node IDs of the rollouts.' }) },
    resolve: async (_, { ids }, context) => compare(ids.map(String), context),
  }),
}))

async function compare(ids: readonly string[], context: Context): Promise<Comparison> {
  if (ids.length < 2 || ids.length > most)
    throw new DomainError('BAD_USER_INPUT', `ids must name 2 to ${most} rollouts, but names ${ids.length}`)
  const reader = await context.reader()
  const rows = await Promise.all(ids.map((id) => startedRollout(reader, id)))
  const twice = rows.find(({ rollout }, index) => rows.findIndex((row) => row.rollout.key === rollout.key) < index)
  if (twice)
    throw new DomainError('BAD_USER_INPUT', `ids must name different rollouts, but names ${twice.rollout.name} twice`)
  const now = (await reader.newest()).at
  const horizon = Math.max(...rows.map(({ start }) => now - start))
  const age = Math.min(...rows.slice(0, 2).map(({ start }) => now - start))
  const seen = await Promise.all(
    rows.map(async ({ rollout, start }) => {
      const moments = momentsOf(start, start + horizon, { points: shownPoints }).filter((at) => at <= now)
      const of = { of: 'rollout', key: rollout.key } as const
      const [points, [atAge]] = await Promise.all([
        pointsAt(reader, of, {}, moments),
        pointsAt(reader, of, {}, [start + age]),
      ])
      return { rollout, start, points, atAge: atAge?.counts }
    }),
  )
  const [first, second] = seen
  // Milliseconds for 100,000 deployments, and a document has up to 100 aliases.
  const judgement = await reader.inTurn(() => judge(first, second, age))
  return { rollouts: seen, age: age / 1_000, ...judgement }
}

async function startedRollout(reader: Reader, id: string) {
  const found = decodeNodeId(id)
  const rollout = found?.type === 'Rollout' ? await reader.rollout(found.key, null) : undefined
  if (!rollout) throw new DomainError('BAD_USER_INPUT', `ids names ${id}, but there is no such rollout`)
  const start = rollout.life.started?.at ?? null
  if (start === null)
    throw new DomainError(
      'BAD_USER_INPUT',
      `ids names ${rollout.name}: this rollout has not started, or not all of it is visible`,
    )
  return { rollout, start }
}

type Side = { readonly rollout: RolloutRow; readonly atAge: StateCounts | undefined } | undefined

function judge(first: Side, second: Side, age: Millis): Pick<Comparison, 'isWorse' | 'pValue' | 'summary'> {
  const [one, other] = [tally(first), tally(second)]
  const all = one.total + other.total
  const sizes = { all, marked: one.failed + other.failed, drawn: one.total }
  const pValue = hypergeometricTail(logFactorials(all), sizes, one.failed)
  const isWorse = pValue <= significance
  const numbers = `${one.failed} of ${one.total} deployments failed, there ${other.failed} of ${other.total}`
  // More of it fail, but not so many more that it says something.
  const isUnsure = !isWorse && one.failed * other.total > other.failed * one.total
  const verdict = isWorse ? 'is worse than' : isUnsure ? 'is not clearly worse than' : 'is not worse than'
  const chance = isUnsure ? ', which may be chance' : ''
  const summary = `${one.name} ${verdict} ${other.name} ${inWords(age)} after the start: ${numbers}${chance}.`
  return { isWorse, pValue, summary }
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** The two largest units: `2 s`, `1 min 43 s`, `3 d 4 h`. */
function inWords(milliseconds: Millis): string {
  const seconds = Math.round(milliseconds / 1_000)
  const first = units.findIndex(([, size]) => seconds >= size)
  const [largest, next] = first < 0 ? units.slice(-1) : units.slice(first, first + 2)
  if (!largest) return ''
  const rest = next ? Math.floor((seconds % largest[1]) / next[1]) : 0
  return `${Math.floor(seconds / largest[1])} ${largest[0]}${next && rest > 0 ? ` ${rest} ${next[0]}` : ''}`
}

function tally(side: Side) {
  const { pending = 0, installing = 0, installed = 0, failed = 0, removing = 0, removed = 0 } = side?.atAge ?? {}
  const total = pending + installing + installed + failed + removing + removed
  return { name: side?.rollout.name ?? '', failed, total }
}
