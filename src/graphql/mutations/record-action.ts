import type { Revision } from '../../domain/values.ts'
import { recordActions } from '../../ingest/commands/act.ts'
import type { RolloutRow } from '../../store/read/rollouts.ts'
import { builder } from '../builder.ts'
import { required } from '../execution/required.ts'
import { Rollout } from '../objects/refs.ts'
import { RolloutKey } from '../objects/rollout.ts'
import { LifecycleStateEnum } from '../objects/vocabulary.ts'
import { checkInput } from './input-check.ts'
import { readRollout, rolloutDescription } from './orchestration-input.ts'
import { attempt, Conflict, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const RecordActionInput = builder.inputType('RecordActionInput', {
  description: 'Input of `recordAction`.',
  fields: (t) => ({
    rollout: t.field({ type: RolloutKey, required: true, description: `${rolloutDescription} CREATED creates it.` }),
    state: t.field({ type: LifecycleStateEnum, required: true, description: 'The state after the action.' }),
    instanceId: t.string({
      description:
        'The instance ID. Required for INSTANTIATED, APPLIED and UPDATED (the new instance). Other actions apply to the current instance.',
    }),
    at: t.field({ type: 'DateTime', description: 'When the action was performed. Absent: now.' }),
    compositeProfile: t.string({ description: 'The composite profile, for CREATED.' }),
  }),
})

const RecordActionSuccess = builder
  .objectRef<{
    readonly type: 'RecordActionSuccess'
    readonly revision: Revision
    readonly isRepeat: boolean
    readonly rollout: RolloutRow
  }>('RecordActionSuccess')
  .implement({
    access: 'reporter of all',
    description: 'The action is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      isRepeat: t.exposeBoolean('isRepeat', { description: 'Whether the action was already recorded.' }),
      rollout: t.expose('rollout', { type: Rollout, description: 'The rollout, with all its actions.' }),
    }),
  })

const RecordActionResult = builder.unionType('RecordActionResult', {
  description: 'Result of `recordAction`.',
  types: [RecordActionSuccess, InvalidInput, NotFound, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('recordAction', (t) =>
  t.field({
    access: 'reporter of all',
    type: RecordActionResult,
    description:
      'Records a lifecycle action of a user on a rollout. A repeated action changes nothing. An action that is not allowed in the current state returns Conflict.',
    args: { input: t.arg({ type: RecordActionInput, required: true, description: 'The action.' }) },
    resolve: (_, { input }, context) => {
      const { state, at = null, instanceId = null, compositeProfile = null } = input
      const check = checkInput()
      const name = readRollout(check, input.rollout)
      check.name(['instanceId'], instanceId)
      check.name(['compositeProfile'], compositeProfile)
      const act = async () => {
        const timestamp = at === null ? null : new Date(at).toISOString()
        const fact = { state, instanceId, at, timestamp, compositeProfile }
        const { rolloutKey, revision, recorded } = await context.write(recordActions(name, [fact]))
        const rollout = required(await (await context.reader()).rollout(rolloutKey, null), 'rollout')
        return { type: 'RecordActionSuccess' as const, revision, isRepeat: recorded === 0, rollout }
      }
      return attempt(['InvalidInput', 'NotFound', 'Conflict', 'Forbidden'], check.problems, act, {
        State: 'state',
        ContextId: 'instanceId',
      })
    },
  }),
)
