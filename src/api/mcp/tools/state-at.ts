/** What it was at a moment. */
import { atTime } from '../answer.ts'
import { stateAt } from '../documents.ts'
import { rolloutIdsOf, rolloutPage } from '../find-rollout.ts'
import {
  type AlertsData,
  alerts,
  alertsOf,
  type CausesData,
  type Counts,
  causes,
  causesOf,
  counts,
  sayAlerts,
  sayCauses,
  sayCounts,
} from '../shapes.ts'
import { defineTool, id, time } from '../tool.ts'

interface Data {
  readonly revision: string
  readonly counts: Counts
  readonly alerts: AlertsData
  readonly causes: CausesData
}

export const stateAtTool = defineTool({
  name: 'state_at',
  title: 'What it was at a moment',
  description:
    'The fleet, or one rollout, exactly as it was at a past moment: deployments by state, why some had failed, and the alerts that fired. For one device or deployment, give those tools a time.',
  input: {
    at: time.describe('The moment.'),
    rollout: id.optional().describe('The name or the ID of a rollout. Absent: the whole fleet.'),
  },
  facts: { counts, alerts, causes },
  async run(context, { at, rollout, limit: first }) {
    const rolloutIds = await rolloutIdsOf(context, rollout)
    const data = await context.asking.ask<Data>(stateAt, { asOf: at, rolloutIds, first }, context.signal)
    const given = { counts: data.counts, alerts: alertsOf(data.alerts), causes: causesOf(data.causes) }
    const how = 'ask with a larger limit, or for one rollout'
    return {
      revision: data.revision,
      time: at,
      page: atTime(rolloutPage(rolloutIds), at),
      facts: given,
      lists: { alerts: { total: data.alerts.totalCount, how }, causes: { total: data.causes.totalCount, how } },
      lines(kept) {
        const { alerts: firing, causes: why } = kept as typeof given
        return [sayCounts(data.counts), ...sayAlerts(firing), ...sayCauses(why)]
      },
    }
  },
})
