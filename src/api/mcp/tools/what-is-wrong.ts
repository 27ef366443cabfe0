/** What is wrong now: alerts, failures by cause, standstills, silent sites. */
import { z } from 'zod'
import { whatIsWrong } from '../documents.ts'
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
  idOf,
  sayAlerts,
  sayCauses,
  sayCounts,
  type TargetData,
} from '../shapes.ts'
import { defineTool, id } from '../tool.ts'
import { markId, markOrNull, quote, untrusted } from '../untrusted.ts'

interface Data {
  readonly revision: string
  readonly counts: Counts
  readonly devices: { readonly total: number; readonly online: number; readonly offline: number }
  readonly alerts: AlertsData
  readonly causes: CausesData
  readonly stalled: {
    readonly totalCount: number
    readonly nodes: readonly {
      readonly deploymentId: string
      readonly target: TargetData
      readonly state: string
      readonly stall: { readonly since: string; readonly component: string | null } | null
    }[]
  }
  readonly silent: {
    readonly totalCount: number
    readonly nodes: readonly {
      readonly key: string | null
      readonly since: string
      readonly counts: { readonly total: number }
    }[]
  }
}

const stalled = z.array(
  z.object({
    deployment: untrusted,
    device: untrusted,
    state: z.string(),
    since: z.string().nullable(),
    component: untrusted.nullable(),
  }),
)
const silent = z.array(z.object({ site: untrusted.nullable(), since: z.string(), deployments: z.number().int() }))

const facts = {
  counts,
  devices: z.object({ total: z.number().int(), online: z.number().int(), offline: z.number().int() }),
  alerts,
  causes,
  stalled: stalled.describe('Deployments that take much longer than others.'),
  silentSites: silent.describe('Sites with deployments on devices that are offline.'),
}

export const whatIsWrongTool = defineTool({
  name: 'what_is_wrong',
  title: 'What is wrong now',
  description:
    'What needs attention in the fleet, or in one rollout, at this moment: alerts that fire, failed deployments by cause, deployments that stall, and sites whose devices are offline. Begin with this.',
  input: {
    rollout: id.optional().describe('The name or the ID of a rollout. Absent: the whole fleet.'),
    siteLabel: id.default('site').describe('The label of devices that names their site.'),
  },
  facts,
  async run(context, { rollout, siteLabel: site, limit: first }) {
    const rolloutIds = await rolloutIdsOf(context, rollout)
    const data = await context.asking.ask<Data>(whatIsWrong, { rolloutIds, site, first }, context.signal)
    const given = {
      counts: data.counts,
      devices: data.devices,
      alerts: alertsOf(data.alerts),
      causes: causesOf(data.causes),
      stalled: data.stalled.nodes.map(({ deploymentId, target, state, stall }) => ({
        ...{ deployment: markId(deploymentId), device: markId(idOf(target)), state },
        ...{ since: stall?.since ?? null, component: markOrNull(stall?.component) },
      })),
      silentSites: data.silent.nodes.map(({ key, since, counts: { total } }) => ({
        ...{ site: markOrNull(key), since, deployments: total },
      })),
    }
    const more = 'ask with a larger limit, or for one rollout'
    return {
      revision: data.revision,
      time: new Date(context.clock()).toISOString(),
      page: rolloutPage(rolloutIds),
      facts: given,
      lists: {
        alerts: { total: data.alerts.totalCount, how: more },
        causes: { total: data.causes.totalCount, how: more },
        stalled: { total: data.stalled.totalCount, how: more },
        silentSites: { total: data.silent.totalCount, how: more },
      },
      lines(kept) {
        const { alerts: firing, causes: why, stalled: slow, silentSites } = kept as typeof given
        return [
          sayCounts(data.counts),
          `${data.devices.total} devices, ${data.devices.offline} offline; ${data.alerts.totalCount} alerts fire`,
          ...sayAlerts(firing),
          ...sayCauses(why),
          ...slow.map(
            ({ deployment, device, state, since }) =>
              `${quote(deployment)} on ${quote(device)} stalls in ${state} since ${since}`,
          ),
          ...silentSites.map(
            (row) =>
              `${row.site === null ? 'devices without a site' : `site ${quote(row.site)}`}: ${row.deployments} deployments on offline devices`,
          ),
        ]
      },
    }
  },
})
