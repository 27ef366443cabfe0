/** What changed between two moments. */
import { z } from 'zod'
import { atTime } from '../answer.ts'
import { changesBetween, moments } from '../documents.ts'
import { rolloutIdsOf, rolloutPage } from '../find-rollout.ts'
import { type Counts, counts, sayCounts } from '../shapes.ts'
import { atLeast, type ChangesData, changeOf, changes, sayChange } from '../tell.ts'
import { defineTool, id, time } from '../tool.ts'

/** Without the steps of components, which are many and explain little. */
const kinds = [
  ...[
    'DEPLOYMENT_STATE_CHANGED',
    'DEPLOYMENT_STALLED',
    'CONNECTIVITY_CHANGED',
    'ALERT_RAISED',
    'ALERT_RESOLVED',
    'ALERT_ACKNOWLEDGED',
  ],
  ...[
    'DEVICE_RETIRED',
    'DEVICE_REINSTATED',
    'MAINTENANCE_PLANNED',
    'MAINTENANCE_CANCELLED',
    'LIFECYCLE_ACTION_RECORDED',
  ],
]

interface Data {
  readonly from: Counts
  readonly to: Counts
  readonly changes: ChangesData
}

export const changesBetweenTool = defineTool({
  name: 'changes_between',
  title: 'What changed',
  description:
    'What changed between two moments, in the fleet or in one rollout: deployments by state then and at the end, and the last changes in words. Compares with yesterday or last week, too.',
  input: {
    from: time.describe('The first moment.'),
    to: time.optional().describe('The last moment. Absent: now.'),
    rollout: id.optional().describe('The name or the ID of a rollout. Absent: the whole fleet.'),
    onlyFailures: z.boolean().default(false).describe('Only deployments that failed.'),
  },
  facts: { from: counts, to: counts, changes },
  async run(context, { from, to, rollout, onlyFailures, limit: first }) {
    const { asking, signal, clock } = context
    const rolloutIds = await rolloutIdsOf(context, rollout)
    const until = to ?? new Date(clock()).toISOString()
    const revisions = await asking.ask<{ from: string; to: string }>(moments, { from, to: until }, signal)
    const filter = { rolloutIds, ...(onlyFailures ? { to: ['FAILED'] } : { kinds }) }
    // Without the first revision, and with the last.
    const range = { after: revisions.from, before: String(BigInt(revisions.to) + 1n) }
    const data = await asking.ask<Data>(changesBetween, { ...revisions, ...range, rolloutIds, filter, first }, signal)
    const given = { from: data.from, to: data.to, changes: data.changes.nodes.map(changeOf).toReversed() }
    return {
      revision: revisions.to,
      time: until,
      page: atTime(rolloutPage(rolloutIds), to ?? null),
      facts: given,
      lists: {
        changes: {
          total: atLeast(data.changes),
          how: 'at least; ask with a larger limit, or for a shorter time',
        },
      },
      lines: (kept) => [
        `At ${from}: ${sayCounts(data.from)}`,
        `At ${until}: ${sayCounts(data.to)}`,
        ...(kept as typeof given).changes.map(sayChange),
      ],
    }
  },
})
