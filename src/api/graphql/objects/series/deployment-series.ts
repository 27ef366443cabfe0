/** Series: counts at many moments. */
import { DomainError } from '../../../../domain/errors.ts'
import type { Millis } from '../../../../domain/values.ts'
import type { StateCounts } from '../../../../store/read/counts/deployment-counts.ts'
import type { CountsPoint } from '../../../../store/read/counts/series.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { Parent } from '../../execution/loaders/parents.ts'
import type { Reader } from '../../execution/loaders/reader.ts'
import { defaultPoints, maxPoints } from '../../guards/page-size.ts'
import { type CountsAt, DeploymentCounts, noConvergence } from '../counts.ts'
import { type DeploymentFilterInput, DeploymentFilterRef, toDeploymentFilter } from '../selectors/deployment-filter.ts'

const StateChanges = builder.objectRef<StateCounts>('DeploymentStateChanges').implement({
  access: 'viewer',
  description: 'How many times deployments changed to each state.',
  fields: (t) => ({
    pending: t.exposeInt('pending', { description: 'Number of changes to PENDING, new deployments included.' }),
    installing: t.exposeInt('installing', { description: 'Number of changes to INSTALLING.' }),
    installed: t.exposeInt('installed', { description: 'Number of changes to INSTALLED.' }),
    failed: t.exposeInt('failed', { description: 'Number of changes to FAILED.' }),
    removing: t.exposeInt('removing', { description: 'Number of changes to REMOVING.' }),
    removed: t.exposeInt('removed', { description: 'Number of changes to REMOVED.' }),
  }),
})

export interface Point extends Omit<CountsPoint, 'counts'> {
  readonly counts: CountsAt
  readonly arrivals: () => Promise<StateCounts | null>
}

export const DeploymentCountsPoint = builder.objectRef<Point>('DeploymentCountsPoint').implement({
  access: 'viewer',
  description: 'Counts of deployments at one moment.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'The moment.' }),
    revision: t.expose('revision', {
      type: 'Revision',
      description: 'The last revision at or before the moment, as `revisionAt` has it.',
    }),
    counts: t.expose('counts', { type: DeploymentCounts, description: 'The counts as of that revision.' }),
    changes: t.field({
      type: StateChanges,
      nullable: true,
      description:
        'Changes of state since the previous moment, by the state that the deployment changed to. A deployment that moved to another device begins there with a first state, which counts. One that moved to another rollout keeps its state. Of a filter, those after which the deployment matched. Null for the first moment. Null also if the filter has fields other than `states`, `convergence` and `rolloutIds`, if the caller sees a part of the fleet only, or for changes that an earlier version of Rollcall recorded.',
      resolve: ({ arrivals }) => arrivals(),
    }),
  }),
})

export const momentArgs = () =>
  builder.args((t) => ({
    from: t.field({
      type: 'DateTime',
      required: true,
      description: 'The first moment. Before `history.oldestTime` it fails with HISTORY_EXPIRED.',
    }),
    to: t.field({
      type: 'DateTime',
      description: 'The last moment. Null: `history.newestTime`. If that is before `from`, all moments are `from`.',
    }),
    points: t.int({
      defaultValue: defaultPoints,
      description: `The number of moments, at equal distances, from 2 to ${maxPoints}. Ignored if \`step\` is given.`,
    }),
    step: t.int({
      description: `Seconds from one moment to the next. The last moment is at or before \`to\`; there may be at most ${maxPoints}.`,
    }),
  }))

export const seriesArgs = () => ({
  ...momentArgs(),
  ...builder.args((t) => ({
    filter: t.field({ type: DeploymentFilterRef, description: 'Selects the deployments to count.' }),
  })),
})

interface MomentArguments {
  readonly from: Millis
  readonly to?: Millis | null | undefined
  readonly points?: number | null | undefined
  readonly step?: number | null | undefined
}

interface SeriesArguments extends MomentArguments {
  readonly filter?: DeploymentFilterInput | null | undefined
}

export async function seriesOf(context: Context, of: Parent, args: SeriesArguments): Promise<readonly Point[]> {
  const reader = await context.reader()
  return pointsAt(reader, of, toDeploymentFilter(args.filter), await momentsUntil(reader, args))
}

export async function momentsUntil(reader: Reader, args: MomentArguments): Promise<Millis[]> {
  const to = args.to ?? Math.max((await reader.newest()).at, args.from)
  return momentsOf(args.from, to, args)
}

/** `moments` ascend. */
export async function pointsAt(
  reader: Reader,
  of: Parent,
  filter: DeploymentFilter,
  moments: readonly Millis[],
): Promise<readonly Point[]> {
  const points = (await reader.countsOverTime(of, filter, moments)) ?? []
  const revisions = points.map(({ revision }) => revision)
  return points.map(({ at, revision, counts }, index) => ({
    at,
    revision,
    counts: {
      ...counts,
      asOf: revision,
      convergence: async () => (await reader.convergenceOverTime(of, filter, revisions))?.[index] ?? noConvergence,
      of: { parent: of, filter },
    },
    arrivals: async () => (await reader.arrivalsOverTime(of, filter, revisions))?.[index] ?? null,
  }))
}

/** Ascending. */
export function momentsOf(
  from: Millis,
  to: Millis,
  { points, step }: Pick<MomentArguments, 'points' | 'step'>,
): Millis[] {
  if (from > to) throw new DomainError('BAD_USER_INPUT', 'from must not be later than to')
  if (typeof step === 'number') {
    if (step < 1) throw new DomainError('BAD_USER_INPUT', 'step must be at least 1 second')
    const count = Math.floor((to - from) / (step * 1_000)) + 1
    if (count > maxPoints)
      throw new DomainError(
        'BAD_USER_INPUT',
        `these are ${count} moments; the limit is ${maxPoints}: give a longer step`,
      )
    return Array.from({ length: count }, (_, index) => from + index * step * 1_000)
  }
  const count = points ?? defaultPoints
  if (count < 2 || count > maxPoints) throw new DomainError('BAD_USER_INPUT', `points must be from 2 to ${maxPoints}`)
  return Array.from({ length: count }, (_, index) => Math.round(from + ((to - from) * index) / (count - 1)))
}

builder.queryField('deploymentCountsOverTime', (t) =>
  t.field({
    access: 'viewer',
    type: [DeploymentCountsPoint],
    description:
      'Deployments of the whole fleet that match the filter, counted by state at each of several moments: what `deploymentCounts(asOf:)` gives there. Without a filter, or with `states`, `convergence` and `rolloutIds` only, it reads each change in between at most once. Any other filter costs a count for each moment.',
    args: seriesArgs(),
    resolve: (_, args, context) => seriesOf(context, { of: 'fleet' }, args),
  }),
)
