/** One rollout: progress, causes, forecast, and whether it is worse than the one before. */
import { z } from 'zod'
import { pageOf } from '../answer.ts'
import { AskError, isInvalid } from '../asking.ts'
import { rollout as document } from '../documents.ts'
import { findRollout } from '../find-rollout.ts'
import {
  type AlertsData,
  alerts,
  alertsOf,
  type CausesData,
  type Counts,
  causes,
  causesOf,
  counts,
  named,
  sayAlerts,
  sayCauses,
  sayCounts,
} from '../shapes.ts'
import { defineTool, id, type ToolContext } from '../tool.ts'
import { mark, markId, quote, untrusted } from '../untrusted.ts'

interface Data {
  readonly revision: string
  readonly comparison?: { readonly isWorse: boolean; readonly pValue: number; readonly summary: string }
  readonly rollout: {
    readonly id: string
    readonly name: string
    readonly project: string | null
    readonly kind: string
    readonly state: string | null
    readonly status: string | null
    readonly readiness: string
    readonly convergence: string
    readonly startedAt: string | null
    readonly finishedAt: string | null
    readonly counts: Counts
    readonly eta: {
      readonly at: string | null
      readonly low: string | null
      readonly high: string | null
      readonly percent: number
      readonly reason: string | null
    }
    readonly alerts: AlertsData
    readonly causes: CausesData
    readonly diagnosis: {
      readonly problems: readonly {
        readonly problem: string
        readonly count: number
        readonly share: number
        readonly causes: readonly { readonly summary: string; readonly count: number; readonly pValue: number }[]
      }[]
    } | null
  } | null
}

const forecast = z
  .object({
    at: z.string().nullable(),
    low: z.string().nullable(),
    high: z.string().nullable(),
    percent: z.number(),
    reason: z.string().nullable(),
  })
  .describe('When so many percent of the deployments are done. `reason`: why there is no forecast.')

const compared = z
  .object({ with: untrusted, isWorse: z.boolean(), pValue: z.number(), summary: untrusted })
  .nullable()
  .describe('Compared with the rollout before it. Null: there is none, or one of them has not started.')

const facts = {
  id: z.string(),
  name: untrusted,
  project: untrusted.nullable(),
  kind: z.string(),
  state: z.string().nullable(),
  status: z.string().nullable(),
  readiness: z.string(),
  convergence: z.string(),
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
  counts,
  forecast,
  comparison: compared,
  causes,
  diagnosis: z
    .array(
      z.object({
        problem: z.string(),
        deployments: z.number().int(),
        cause: untrusted,
        explains: z.number().int(),
        pValue: z.number(),
      }),
    )
    .describe('What deployments with a problem have in common.'),
  alerts,
}

export const rolloutTool = defineTool({
  name: 'rollout',
  title: 'One rollout',
  description:
    'How one rollout goes: deployments by state, why some fail and what these have in common, the forecast of its end, and whether it is worse than the rollout before it.',
  input: { rollout: id.describe('The name or the ID of the rollout.') },
  facts,
  async run(context, { rollout: name, limit: first }) {
    const { id: rolloutId, earlier: [before] = [] } = await findRollout(context, name, { hasEarlier: true })
    const { revision, rollout: data, comparison } = await read(context, rolloutId, before, first)
    if (!data) throw new AskError('NOT_FOUND', `there is no rollout ${name} any more`)
    const { counts: states, eta, causes: why, alerts: firing } = data
    const problems = data.diagnosis?.problems ?? []
    const given = {
      ...{
        id: data.id,
        name: markId(data.name),
        project: named(data.project),
        kind: data.kind,
        state: data.state,
        status: data.status,
      },
      ...{
        readiness: data.readiness,
        convergence: data.convergence,
        startedAt: data.startedAt,
        finishedAt: data.finishedAt,
      },
      counts: states,
      forecast: eta,
      comparison:
        before && comparison ? { ...comparison, with: markId(before.name), summary: mark(comparison.summary) } : null,
      causes: causesOf(why),
      diagnosis: problems.flatMap(({ problem, count, causes: traits }) =>
        traits.slice(0, first).map(({ summary, count: explains, pValue }) => ({
          problem,
          deployments: count,
          cause: mark(summary),
          explains,
          pValue,
        })),
      ),
      alerts: alertsOf(firing),
    }
    return {
      revision,
      time: new Date(context.clock()).toISOString(),
      page: pageOf(data.id),
      facts: given,
      lists: {
        diagnosis: { total: problems.flatMap(({ causes: traits }) => traits).length, how: 'ask with a larger limit' },
        causes: { total: why.totalCount, how: 'ask with a larger limit' },
        alerts: { total: firing.totalCount, how: 'ask with a larger limit' },
      },
      lines(kept) {
        const { comparison: other, causes: rows, diagnosis, alerts: list } = kept as typeof given
        return [
          `Rollout ${quote(given.name)}: ${sayCounts(states)}`,
          eta.at === null
            ? `No forecast: ${eta.reason}`
            : `${eta.percent} % done about ${eta.at}, between ${eta.low} and ${eta.high}`,
          other === null
            ? 'Not compared with another rollout'
            : `${other.isWorse ? 'Worse than' : 'Not worse than'} ${quote(other.with)}: ${quote(other.summary)}`,
          ...sayCauses(rows),
          ...diagnosis.map(
            ({ problem, deployments, cause, explains }) => `Of ${deployments} ${problem}, ${explains}: ${quote(cause)}`,
          ),
          ...sayAlerts(list),
        ]
      },
    }
  },
})

/** With the comparison, at one revision. A rollout that has not started cannot be compared. */
async function read(
  { asking, signal }: ToolContext,
  id: string,
  before: { readonly id: string } | undefined,
  first: number,
) {
  const ask = (isCompared: boolean) =>
    asking.ask<Data>(document, { id, first, compared: before ? [id, before.id] : [id], isCompared }, signal)
  if (!before) return ask(false)
  return ask(true).catch((error: unknown) => {
    if (isInvalid(error)) return ask(false)
    throw error
  })
}
