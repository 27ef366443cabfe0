import type { Millis, Revision } from '../../../domain/values.ts'
import type { WatchOptions } from '../../../feed/watch-stream.ts'
import { builder } from '../builder.ts'
import type { Reader } from '../execution/loaders/reader.ts'
import { selectedFields } from '../execution/selection.ts'
import { maxPoints } from '../guards/page-size.ts'
import { numbersOf, selectedFacts } from '../objects/counts.ts'
import { DeploymentFilterRef, toDeploymentFilter } from '../objects/selectors/deployment-filter.ts'
import { DeploymentCountsPoint, momentsOf, type Point, pointsAt } from '../objects/series/deployment-series.ts'
import { deploymentWatch } from './counts-update.ts'
import { type React, streamState } from './state-stream.ts'

interface SeriesUpdate {
  readonly cursor: Revision
  readonly coalesced: number
  readonly points: readonly Point[]
  /** As in ListUpdate. */
  readonly difference: string
}

/** What was sent last. */
interface Sent {
  /** The number of steps from the first moment to the last one. */
  readonly last: number
  readonly shown: string
}

const DeploymentCountsOverTimeUpdate = builder.objectRef<SeriesUpdate>('DeploymentCountsOverTimeUpdate').implement({
  access: 'viewer',
  description: 'Points of a live series that are new or have changed.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'The revision that this update reflects.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Number of further commits that were merged into this update.',
    }),
    points: t.expose('points', {
      type: [DeploymentCountsPoint],
      description:
        'The points, ascending. Each replaces the point of the same moment. The moment of the last one is not before the newest change: its counts are as of the cursor, and it is sent again until its moment is over.',
    }),
  }),
})

builder.subscriptionField('deploymentCountsOverTime', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentCountsOverTimeUpdate,
    description:
      'A live `deploymentCountsOverTime`: all points first, then the newest whenever a count changes. While nothing changes in the deployments of the filter, nothing is sent: the next points have the counts of the last one. It sends the newest points if more were due.',
    args: {
      from: t.arg({
        type: 'DateTime',
        required: true,
        description: 'The first moment. Before `history.oldestTime` it fails with HISTORY_EXPIRED.',
      }),
      step: t.arg.int({
        required: true,
        description: `Seconds from one moment to the next. There may be at most ${maxPoints} up to the present.`,
      }),
      filter: t.arg({ type: DeploymentFilterRef, description: 'Selects the deployments to count.' }),
    },
    subscribe: (_, { from, step, filter: given }, context, info) => {
      // Refuses too many moments.
      momentsOf(from, Math.max(context.clock(), from), { step })
      const filter = toDeploymentFilter(given)
      const facts = selectedFacts(selectedFields(info, ['points', 'counts']))
      const shownOf = async (reader: Reader, points: readonly Point[]): Promise<string> =>
        JSON.stringify(
          await Promise.all(
            points.map(async ({ at, counts, arrivals }) => [
              at,
              await numbersOf(reader, counts, facts),
              await arrivals(),
            ]),
          ),
        )
      const react: React<SeriesUpdate, Sent> = async (reader, { cursor, coalesced }, { memory }) => {
        const last = stepsUntil((await reader.newest()).at, from, step)
        // The point that was the last one may have changed. The one before it is read for the changes in between.
        const changed = Math.max(memory?.last ?? 0, last - maxPoints + 2, 0)
        const first = Math.max(changed - 1, 0)
        const moments = Array.from({ length: last - first + 1 }, (_, index) => from + (first + index) * step * 1_000)
        const points = (await pointsAt(reader, { of: 'fleet' }, filter, moments)).slice(changed - first)
        const shown = await shownOf(reader, points)
        const next: Sent = { last, shown: await shownOf(reader, points.slice(-1)) }
        if (memory?.last === last && memory.shown === next.shown) return { skip: true }
        return { send: { cursor, coalesced, points, difference: shown }, memory: next }
      }
      const watch: WatchOptions = { ...deploymentWatch(filter, facts), isPaced: true }
      return streamState(
        context,
        `deploymentCountsOverTime ${JSON.stringify([from, step, filter, facts])}`,
        watch,
        react,
      )
    },
    resolve: (event) => event.payload,
  }),
)

function stepsUntil(at: Millis, from: Millis, step: number): number {
  return Math.max(Math.ceil((at - from) / (step * 1_000)), 0)
}
