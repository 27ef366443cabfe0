/** What so-cnf-adapter announces with aai-update, for an instance that it never announced. */
import { Sink } from '../objects/sink.ts'
import { addMutation } from './mutation.ts'

addMutation('announceInstance', {
  access: 'operator of all',
  description:
    "Announces where in A&AI an instance belongs, like so-cnf-adapter's aai-update call. From then on, the inventory has its resources. To announce it again replaces the place. Conflict: no inventory is configured.",
  input: {
    description: 'The instance and its place.',
    note: 'The fields are those of so-cnf-adapter.',
    fields: (t) => ({
      instanceId: t.string({ required: true, description: 'The instance ID that the orchestrator assigned.' }),
      cloudOwner: t.string({ required: true, description: 'The owner of the cloud region in A&AI.' }),
      cloudRegion: t.string({ required: true, description: 'The cloud region in A&AI.' }),
      tenantId: t.string({ required: true, description: 'The tenant in A&AI that gets the `k8s-resource` nodes.' }),
      genericVnfId: t.string({
        description:
          'The generic-vnf in A&AI whose operational status follows the instance. Required with `vfModuleId`.',
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
  },
  errors: ['NotFound', 'Conflict'],
  check: ({ instanceId, cloudOwner, cloudRegion, tenantId, genericVnfId, vfModuleId, callbackUrl }, check) => {
    const names = { instanceId, cloudOwner, cloudRegion, tenantId, genericVnfId, vfModuleId }
    for (const [field, value] of Object.entries(names)) check.name([field], value)
    check.url(['callbackUrl'], callbackUrl)
    if (typeof vfModuleId === 'string' && typeof genericVnfId !== 'string')
      check.add(['genericVnfId'], 'is required to find the vf-module')
  },
  act: async ({ instanceId, genericVnfId = null, vfModuleId = null, callbackUrl = null, ...required }, context) => {
    const place = { ...required, genericVnfId, vfModuleId, callbackUrl }
    return { sink: await context.sinks.announce(instanceId, place, false) }
  },
  success: {
    description: 'The instance was announced. The inventory is updated at once, and on every change of its resources.',
    fields: (t) => ({ sink: t.expose('sink', { type: Sink, description: 'The sink of the instance.' }) }),
  },
})
