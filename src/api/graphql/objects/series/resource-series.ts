import type { Millis, Revision } from '../../../../domain/values.ts'
import { builder } from '../../builder.ts'
import { countResourcesOf, ResourceCounts } from '../resources/resource.ts'
import { ResourceFilterRef, toResourceFilter } from '../selectors/filters.ts'
import { momentArgs, momentsUntil } from './deployment-series.ts'

interface Point {
  readonly at: Millis
  readonly revision: Revision
  readonly counts: Awaited<ReturnType<typeof countResourcesOf>>
}

const ResourceCountsPoint = builder.objectRef<Point>('ResourceCountsPoint').implement({
  access: 'viewer',
  description: 'Counts of resources at one moment.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'The moment.' }),
    revision: t.expose('revision', {
      type: 'Revision',
      description: 'The last revision at or before the moment, as `revisionAt` has it.',
    }),
    counts: t.expose('counts', { type: ResourceCounts, description: 'The counts as of that revision.' }),
  }),
})

builder.queryField('resourceCountsOverTime', (t) =>
  t.field({
    access: 'viewer',
    type: [ResourceCountsPoint],
    description:
      'Resources of the whole fleet that match the filter, counted by status at each of several moments: what `resourceCounts(asOf:)` gives there. It costs a count for each moment between which something changed.',
    args: {
      ...momentArgs(),
      filter: t.arg({ type: ResourceFilterRef, description: 'Selects the resources to count.' }),
    },
    resolve: async (_, args, context) => {
      const reader = await context.reader()
      const filter = toResourceFilter(args.filter)
      const moments = await momentsUntil(reader, args)
      const points: Point[] = []
      for (const [index, revision] of (await reader.revisionsAt(moments)).entries()) {
        const last = points.at(-1)
        const at = moments[index] ?? 0
        const counts =
          last?.revision === revision ? last.counts : await countResourcesOf(reader, { of: 'fleet' }, filter, revision)
        points.push({ at, revision, counts })
      }
      return points
    },
  }),
)
