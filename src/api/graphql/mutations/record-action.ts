import { recordActions } from '../../../ingest/commands/lifecycle-actions.ts'
import { isReportable } from '../../../platform/body/time.ts'
import { required } from '../execution/required.ts'
import { Rollout } from '../objects/refs.ts'
import { RolloutKey } from '../objects/rollouts/rollout.ts'
import { LifecycleStateEnum } from '../objects/vocabulary.ts'
import { addMutation } from './mutation.ts'
import { readRollout, rolloutDescription } from './orchestration-input.ts'

addMutation('recordAction', {
  access: 'reporter of all',
  description:
    'Records a lifecycle action of a user on a rollout. A repeated action changes nothing. An action that is not allowed in the current state returns Conflict.',
  input: {
    description: 'The action.',
    fields: (t) => ({
      rollout: t.field({ type: RolloutKey, required: true, description: `${rolloutDescription} CREATED creates it.` }),
      state: t.field({ type: LifecycleStateEnum, required: true, description: 'The state after the action.' }),
      instanceId: t.string({
        description:
          'The instance ID. Required for INSTANTIATED, APPLIED and UPDATED (the new instance). Other actions apply to the current instance.',
      }),
      at: t.field({ type: 'DateTime', description: 'When the action was performed. Absent: now.' }),
      compositeProfile: t.string({ description: 'The composite profile. Ignored if the action is a repeat.' }),
    }),
  },
  errors: ['NotFound', 'Conflict'],
  names: { State: 'state', ContextId: 'instanceId' },
  check: ({ rollout, instanceId, at, compositeProfile }, check) => {
    const name = readRollout(check, rollout)
    check.name(['instanceId'], instanceId)
    check.name(['compositeProfile'], compositeProfile)
    if (typeof at === 'number' && !isReportable(at)) check.add(['at'], 'must be a time from 1970 to 9999')
    return name
  },
  act: async ({ state, at = null, instanceId = null, compositeProfile = null }, context, name) => {
    const timestamp = at === null ? null : new Date(at).toISOString()
    const action = { state, instanceId, at, timestamp, compositeProfile }
    const { rolloutKey, revision, recorded } = await context.write(
      recordActions(name, [action], context.principal.name),
    )
    const rollout = required(await (await context.reader()).rollout(rolloutKey, null), 'rollout')
    return { revision, isRepeat: recorded === 0, rollout }
  },
  success: {
    description: 'The action is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      isRepeat: t.exposeBoolean('isRepeat', { description: 'Whether the action was already recorded.' }),
      rollout: t.expose('rollout', { type: Rollout, description: 'The rollout, with all its actions.' }),
    }),
  },
})
