/** What so-cnf-adapter announces with aai-update, for an instance that it never announced. */
import type { Sink as SinkRow } from '../../store/sinks/sinks.ts'
import { builder } from '../builder.ts'
import { Sink } from '../objects/sink.ts'
import { checkInput } from './input-check.ts'
import { attempt, Conflict, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const AnnounceInstanceInput = builder.inputType('AnnounceInstanceInput', {
  description: 'Input of `announceInstance`. The fields are those of so-cnf-adapter.',
  fields: (t) => ({
    instanceId: t.string({ required: true, description: 'The instance ID that the orchestrator assigned.' }),
    cloudOwner: t.string({ required: true, description: 'The owner of the cloud region in A&AI.' }),
    cloudRegion: t.string({ required: true, description: 'The cloud region in A&AI.' }),
    tenantId: t.string({ required: true, description: 'The tenant in A&AI that gets the `k8s-resource` nodes.' }),
    genericVnfId: t.string({
      description: 'The generic-vnf in A&AI whose operational status follows the instance. Required with `vfModuleId`.',
    }),
    vfModuleId: t.string({
      description:
        'The vf-module in A&AI whose operational status follows the instance, instead of that of the generic-vnf.',
    }),
    callbackUrl: t.string({
      description:
        'The URL that receives the outcome of the first update: http or https. Private addresses must be allowed in `SINK_ALLOW`.',
    }),
  }),
})

const AnnounceInstanceSuccess = builder
  .objectRef<{ readonly type: 'AnnounceInstanceSuccess'; readonly sink: SinkRow }>('AnnounceInstanceSuccess')
  .implement({
    access: 'operator of all',
    description: 'The instance was announced. The inventory is updated at once, and on every change of its resources.',
    fields: (t) => ({ sink: t.expose('sink', { type: Sink, description: 'The sink of the instance.' }) }),
  })

const AnnounceInstanceResult = builder.unionType('AnnounceInstanceResult', {
  description: 'Result of `announceInstance`.',
  types: [AnnounceInstanceSuccess, InvalidInput, NotFound, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationFields((t) => ({
  announceInstance: t.field({
    access: 'operator of all',
    type: AnnounceInstanceResult,
    description:
      "Announces where in A&AI an instance belongs, like so-cnf-adapter's aai-update call. From then on, the inventory has its resources. To announce it again replaces the place. Conflict: no inventory is configured.",
    args: { input: t.arg({ type: AnnounceInstanceInput, required: true, description: 'The instance and its place.' }) },
    resolve: (_, { input }, context) => {
      const check = checkInput()
      const { instanceId, cloudOwner, cloudRegion, tenantId } = input
      for (const [field, value] of Object.entries({ instanceId, cloudOwner, cloudRegion, tenantId }))
        check.name([field], value)
      const { genericVnfId = null, vfModuleId = null, callbackUrl = null } = input
      for (const [field, value] of Object.entries({ genericVnfId, vfModuleId, callbackUrl })) check.name([field], value)
      if (vfModuleId !== null && genericVnfId === null) check.add(['genericVnfId'], 'is required to find the vf-module')
      return attempt(['InvalidInput', 'NotFound', 'Conflict', 'Forbidden'], check.problems, async () => {
        const place = { cloudOwner, cloudRegion, tenantId, genericVnfId, vfModuleId, callbackUrl }
        const sink = await context.sinks.announce(instanceId, place, false)
        return { type: 'AnnounceInstanceSuccess' as const, sink }
      })
    },
  }),
}))
