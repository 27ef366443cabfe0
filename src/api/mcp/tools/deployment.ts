/** One deployment: state, why, since when, and its history in words. */
import { z } from 'zod'
import { atTime, pageOf } from '../answer.ts'
import { AskError } from '../asking.ts'
import { deployment as document } from '../documents.ts'
import { type ErrorData, error, errorOf, idOf, named, sayError, type TargetData } from '../shapes.ts'
import { type ChangeData, changeOf, changes, sayChange } from '../tell.ts'
import { defineTool, id, time } from '../tool.ts'
import { markId, quote, untrusted } from '../untrusted.ts'

interface Data {
  readonly revision: string
  readonly deployment: {
    readonly id: string
    readonly deploymentId: string
    readonly state: string
    readonly derivedState: string | null
    readonly consistent: boolean
    readonly readiness: string
    readonly convergence: string
    readonly attempt: number
    readonly application: string | null
    readonly applicationVersion: string | null
    readonly changedAt: string
    readonly target: TargetData
    readonly rollout: { readonly id: string; readonly name: string }
    readonly error: ErrorData | null
    readonly stall: { readonly since: string; readonly component: string | null; readonly basis: string | null } | null
    readonly components: readonly {
      readonly name: string
      readonly state: string
      readonly changedAt: string
      readonly error: ErrorData | null
    }[]
    readonly history: { readonly totalCount: number; readonly nodes: readonly ChangeData[] }
  } | null
}

const facts = {
  deployment: untrusted,
  device: untrusted,
  rollout: z.object({ id: z.string(), name: untrusted }),
  application: untrusted.nullable(),
  applicationVersion: untrusted.nullable(),
  state: z.string(),
  since: z.string(),
  error,
  attempt: z.number().int(),
  derivedState: z.string().nullable().describe('What its components amount to.'),
  consistent: z.boolean(),
  readiness: z.string(),
  convergence: z.string(),
  stalledSince: z.string().nullable(),
  components: z.array(z.object({ name: untrusted, state: z.string(), since: z.string(), error })),
  history: changes,
}

export const deploymentTool = defineTool({
  name: 'deployment',
  title: 'One deployment',
  description:
    'One application on one device or cluster: its state, why, since when, its components, and what happened to it in words. With a time: as it was then.',
  input: {
    deployment: id.describe('The ID of the deployment.'),
    device: id
      .optional()
      .describe('The device that it runs on, or its reporter. Required if several have a deployment with this ID.'),
    at: time.optional().describe('A moment of the past. Absent: now.'),
  },
  facts,
  async run({ asking, signal, clock }, { deployment: deploymentId, device = null, at = null, limit: first }) {
    const variables = { deploymentId, deviceId: device, asOf: at, first }
    const { revision, deployment: data } = await asking.ask<Data>(document, variables, signal)
    if (!data) throw new AskError('NOT_FOUND', `there is no deployment ${deploymentId}: use the tool search`)
    const given = {
      ...{ deployment: markId(data.deploymentId), device: markId(idOf(data.target)) },
      rollout: { id: data.rollout.id, name: markId(data.rollout.name) },
      ...{ application: named(data.application), applicationVersion: named(data.applicationVersion) },
      ...{ state: data.state, since: data.changedAt, error: errorOf(data.error), attempt: data.attempt },
      ...{
        derivedState: data.derivedState,
        consistent: data.consistent,
        readiness: data.readiness,
        convergence: data.convergence,
      },
      stalledSince: data.stall?.since ?? null,
      // Those with an error first: the last ones may be left out.
      components: data.components
        .map(({ name, state, changedAt: since, error: problem }) => ({
          ...{ name: markId(name), state, since, error: errorOf(problem) },
        }))
        .toSorted((a, b) => Number(b.error !== null) - Number(a.error !== null)),
      history: data.history.nodes.map(changeOf).toReversed(),
    }
    return {
      revision,
      time: at ?? new Date(clock()).toISOString(),
      page: atTime(pageOf(data.id), at),
      facts: given,
      lists: { history: { total: data.history.totalCount, how: 'ask with a larger limit, or open the page' } },
      lines(kept) {
        const { components, history } = kept as typeof given
        const stalls = given.stalledSince === null ? '' : `; it stalls since ${given.stalledSince}`
        return [
          `Deployment ${quote(given.deployment)} on ${quote(given.device)} is ${data.state} since ${data.changedAt}${sayError(given.error)}${stalls}`,
          ...components.map((part) => `Component ${quote(part.name)} is ${part.state}${sayError(part.error)}`),
          ...history.map(sayChange),
        ]
      },
    }
  },
})
