/** One device: whether it is heard, what runs on it, and what happened to it in words. */
import { z } from 'zod'
import { atTime, pageOf } from '../answer.ts'
import { AskError } from '../asking.ts'
import { device as document } from '../documents.ts'
import {
  type Counts,
  counts,
  type ErrorData,
  error,
  errorOf,
  labels,
  labelsOf,
  named,
  sayCounts,
  sayError,
} from '../shapes.ts'
import { atLeast, type ChangesData, changeOf, changes, sayChange } from '../tell.ts'
import { defineTool, id, time } from '../tool.ts'
import { mark, markId, quote, untrusted } from '../untrusted.ts'

interface Data {
  readonly revision: string
  readonly device: {
    readonly id: string
    readonly deviceId: string
    readonly connectivity: string
    readonly lastHeardAt: string | null
    readonly registered: boolean
    readonly labels: readonly { readonly key: string; readonly value: string }[]
    readonly parent: { readonly deviceId: string } | null
    readonly maintenance: { readonly reason: string; readonly until: string } | null
    readonly retirement: { readonly at: string; readonly reason: string } | null
    readonly counts: Counts
    readonly deployments: {
      readonly totalCount: number
      readonly nodes: readonly {
        readonly deploymentId: string
        readonly state: string
        readonly changedAt: string
        readonly error: ErrorData | null
      }[]
    }
  } | null
  readonly history: ChangesData
}

const facts = {
  device: untrusted,
  connectivity: z.string(),
  lastHeardAt: z.string().nullable(),
  registered: z.boolean(),
  labels,
  gateway: untrusted.nullable(),
  maintenance: z.object({ reason: untrusted, until: z.string() }).nullable(),
  retirement: z.object({ reason: untrusted, at: z.string() }).nullable(),
  counts,
  deployments: z.array(z.object({ deployment: untrusted, state: z.string(), since: z.string(), error })),
  history: changes,
}

export const deviceTool = defineTool({
  name: 'device',
  title: 'One device',
  description:
    'One device: whether the server hears it and since when not, what runs on it and in what state, and what happened to it in words. With a time: as it was then.',
  input: {
    device: id.describe('The ID of the device.'),
    at: time.optional().describe('A moment of the past. Absent: now. The history is always the latest.'),
  },
  facts,
  async run({ asking, signal, clock }, { device: deviceId, at = null, limit: first }) {
    const { revision, device: data, history } = await asking.ask<Data>(document, { deviceId, asOf: at, first }, signal)
    if (!data) throw new AskError('NOT_FOUND', `there is no device ${deviceId}: use the tool search`)
    const { maintenance, retirement } = data
    const given = {
      ...{
        device: markId(data.deviceId),
        connectivity: data.connectivity,
        lastHeardAt: data.lastHeardAt,
        registered: data.registered,
      },
      ...{ labels: labelsOf(data.labels), gateway: named(data.parent?.deviceId) },
      maintenance: maintenance && { reason: mark(maintenance.reason), until: maintenance.until },
      retirement: retirement && { reason: mark(retirement.reason), at: retirement.at },
      counts: data.counts,
      deployments: data.deployments.nodes.map(({ deploymentId, state, changedAt, error: problem }) => ({
        ...{ deployment: markId(deploymentId), state, since: changedAt, error: errorOf(problem) },
      })),
      history: history.nodes.map(changeOf).toReversed(),
    }
    return {
      revision,
      time: at ?? new Date(clock()).toISOString(),
      page: atTime(pageOf(data.id), at),
      facts: given,
      lists: {
        labels: { total: data.labels.length, how: 'open the page' },
        deployments: { total: data.deployments.totalCount, how: 'ask with a larger limit' },
        history: { total: atLeast(history), how: 'at least; ask with a larger limit, or use changes_between' },
      },
      lines(kept) {
        const { deployments, history: rows } = kept as typeof given
        return [
          `Device ${quote(given.device)} is ${data.connectivity}, last heard ${data.lastHeardAt ?? 'never'}; ${sayCounts(data.counts)}`,
          ...(given.maintenance
            ? [`In maintenance until ${given.maintenance.until}: ${quote(given.maintenance.reason)}`]
            : []),
          ...(given.retirement ? [`Retired at ${given.retirement.at}: ${quote(given.retirement.reason)}`] : []),
          ...deployments.map(
            (row) => `${quote(row.deployment)} is ${row.state} since ${row.since}${sayError(row.error)}`,
          ),
          ...rows.map(sayChange),
        ]
      },
    }
  },
})
