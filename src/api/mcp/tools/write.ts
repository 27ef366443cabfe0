/** The tools that write. */
import { z } from 'zod'
import { pageOf } from '../answer.ts'
import { AskError } from '../asking.ts'
import { acknowledge, alert, declare, declared, plan, retire, retirement } from '../documents.ts'
import { id, type Tool, time } from '../tool.ts'
import { defineWritingTool } from '../writing-tool.ts'
import { deviceIds, filtersOf, select, selection } from './selection.ts'

export const writingTools: readonly Tool[] = [
  defineWritingTool({
    name: 'acknowledge_alert',
    title: 'Acknowledge an alert',
    description: 'Says that a person has seen an alert. It goes on until its condition ends.',
    input: { alert: id.describe('The ID of the alert, from what_is_wrong.') },
    annotations: { destructiveHint: false, idempotentHint: true },
    async preview({ asking, signal }, input) {
      interface Data {
        readonly revision: string
        readonly node: {
          readonly rule?: string
          readonly severity: string
          readonly state: string
          readonly summary: string
          readonly acknowledgement: object | null
        } | null
      }
      const { revision, node } = await asking.ask<Data>(alert, { id: input.alert }, signal)
      if (node?.rule === undefined) throw new AskError('NOT_FOUND', 'there is no such alert')
      const effect = {
        severity: node.severity,
        state: node.state,
        isAcknowledgedAlready: node.acknowledgement !== null,
      }
      return { revision, effect, about: `${node.rule}: ${node.summary}`, page: '' }
    },
    write: ({ alert: alertId, reason }) => ({
      document: acknowledge,
      input: { id: alertId, comment: reason },
    }),
  }),
  defineWritingTool({
    name: 'retire_devices',
    title: 'Retire devices',
    description: 'Takes devices out of service: they leave lists and counts, and their reports are refused.',
    input: {
      // By their IDs only: which devices have a label may change after the preview.
      devices: deviceIds,
      withChildren: z.boolean().default(false).describe('Whether the devices behind them retire too.'),
    },
    annotations: { destructiveHint: true, idempotentHint: true },
    async preview({ asking, signal }, input) {
      interface Data {
        readonly revision: string
        readonly retirement: { readonly devices: number; readonly children: number; readonly deployments: number }
      }
      const variables = { filter: { deviceIds: input.devices }, withChildren: input.withChildren }
      const { revision, retirement: effect } = await asking.ask<Data>(retirement, variables, signal)
      return { revision, effect, page: 'devices' }
    },
    write: ({ devices, withChildren, reason }) => ({
      document: retire,
      input: { filter: { deviceIds: devices }, withChildren, reason },
    }),
  }),
  defineWritingTool({
    name: 'plan_maintenance',
    title: 'Plan maintenance',
    description: 'Plans downtime of devices and clusters, in which their silence raises no alert.',
    input: { ...selection, from: time.optional().describe('The begin. Absent: now.'), to: time.describe('The end.') },
    annotations: { destructiveHint: false, idempotentHint: false },
    async preview(context, input) {
      const { effect, ...found } = await select(context, input)
      const { from = 'now', to } = input
      return { ...found, effect: { ...effect, from, to }, page: 'devices' }
    },
    write: ({ from, to, reason, ...selected }) => ({
      document: plan,
      input: { ...filtersOf(selected), ...(from !== undefined && { from }), to, reason },
    }),
  }),
  defineWritingTool({
    name: 'declare_deployments',
    title: 'Declare deployments',
    description: 'Says what should run where, as one rollout. It deploys nothing: devices and orchestrators do.',
    input: {
      rollout: id.describe('The name of the rollout.'),
      deployments: z
        .array(
          z.strictObject({
            deploymentId: id,
            deviceId: id,
            application: id.optional(),
            applicationVersion: id.optional(),
          }),
        )
        .min(1)
        .max(100),
    },
    annotations: { destructiveHint: false, idempotentHint: true },
    async preview({ asking, signal }, { rollout, deployments }) {
      interface Data {
        readonly revision: string
        readonly known: { readonly total: number }
        readonly rollouts: { readonly nodes: readonly { readonly id: string }[] }
      }
      const deploymentIds = deployments.map(({ deploymentId }) => deploymentId)
      const { revision, known, rollouts } = await asking.ask<Data>(
        declared,
        { deploymentIds, names: [rollout] },
        signal,
      )
      const [found] = rollouts.nodes
      const effect = { deployments: deployments.length, withKnownIds: known.total, isNewRollout: found === undefined }
      return { revision, effect, page: found ? pageOf(found.id) : 'rollouts' }
    },
    write: ({ rollout, deployments, ...more }) => ({
      document: declare,
      input: { rollout: { name: rollout }, deployments, reason: more.reason },
    }),
  }),
]
