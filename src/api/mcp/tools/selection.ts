/** Devices and clusters for maintenance, as `planMaintenance` selects them, and what the selection covers now. */
import { z } from 'zod'
import { AskError } from '../asking.ts'
import { selectedTargets } from '../documents.ts'
import { id, type ToolContext } from '../tool.ts'
import { markId } from '../untrusted.ts'

export const deviceIds = z.array(id).min(1).max(100).describe('The IDs of devices.')

export const selection = {
  devices: deviceIds.optional(),
  labels: z
    .array(z.strictObject({ key: id, value: z.string().max(256) }))
    .min(1)
    .max(20)
    .optional()
    .describe(
      'Labels, all of which the devices have, such as that of a site. Devices that get them later are covered, too.',
    ),
  clusters: z.array(id).min(1).max(100).optional().describe('The names of clusters.'),
}

/** For more, a person plans on the page. Clusters: those of a page of the API. */
const [mostDevices, mostClusters] = [1_000, 100]

export interface Selection {
  readonly devices?: readonly string[] | undefined
  readonly labels?: readonly object[] | undefined
  readonly clusters?: readonly string[] | undefined
}

export function filtersOf({ devices, labels, clusters: names }: Selection) {
  const filter = (devices ?? labels) && {
    ...(devices && { deviceIds: devices }),
    ...(labels && { where: { and: labels.map((label) => ({ labels: [label] })) } }),
  }
  if (!filter && !names) throw new AskError('BAD_USER_INPUT', 'give devices, labels or clusters')
  return { ...(filter && { filter }), ...(names && { clusters: { names } }) }
}

interface Found<Row> {
  readonly totalCount: number
  readonly nodes: readonly Row[]
}

interface Data {
  readonly revision: string
  readonly devices?: Found<{ readonly deviceId: string }>
  readonly clusters?: Found<{ readonly name: string; readonly provider: string }>
}

const none = { totalCount: 0, nodes: [] }
const missing = (given: readonly string[] = [], found: readonly string[]): number =>
  given.filter((name) => !found.includes(name)).length

export async function select({ asking, signal }: ToolContext, input: Selection) {
  const filters = filtersOf(input)
  const which = { hasDevices: 'filter' in filters, hasClusters: 'clusters' in filters }
  const data = await asking.ask<Data>(selectedTargets, { ...filters, ...which, first: mostClusters }, signal)
  const { revision, devices = none, clusters = none } = data
  if (devices.totalCount > mostDevices || clusters.totalCount > mostClusters) {
    const found = `${devices.totalCount} devices and ${clusters.totalCount} clusters`
    const most = `at most ${mostDevices} and ${mostClusters} are allowed`
    throw new AskError('BAD_USER_INPUT', `this selects ${found}; ${most}: select fewer, or plan on the page`)
  }
  const deviceNames = devices.nodes.map(({ deviceId }) => deviceId)
  const clusterNames = clusters.nodes.map(({ name }) => name)
  return {
    revision,
    effect: {
      ...{ devices: devices.totalCount, clusters: clusters.totalCount },
      // With labels, a device that is given and has others is left out by intention.
      notFound: (input.labels ? 0 : missing(input.devices, deviceNames)) + missing(input.clusters, clusterNames),
      coversLaterDevices: input.labels !== undefined,
    },
    covers: {
      total: devices.totalCount + clusters.totalCount,
      rows: [
        ...clusters.nodes.map(({ name, provider }) => ({ kind: 'CLUSTER', name: markId(`${provider}+${name}`) })),
        ...deviceNames.map((name) => ({ kind: 'DEVICE', name: markId(name) })),
      ],
    },
  }
}
