import type { Revision } from '../domain/deployment.ts'
import { recordActions } from '../ingest/commands/act.ts'
import type { RolloutRow } from '../store/rollouts.ts'
import { builder } from './builder.ts'
import { checkInput } from './input-check.ts'
import { readRollout, rolloutDescription } from './orchestration-input.ts'
import { required } from './required.ts'
import { Rollout, RolloutKey } from './rollout.ts'
import { attempt, Conflict, Forbidden, InvalidInput, NotFound } from './user-error.ts'
import { LifecycleStateEnum } from './vocabulary.ts'

const RecordActionInput = builder.inputType('RecordActionInput', {
  description: 'What recordAction takes.',
  fields: (t) => ({
    rollout: t.field({ type: RolloutKey, required: true, description: `${rolloutDescription} CREATED makes it.` }),
    state: t.field({ type: LifecycleStateEnum, required: true, description: 'What was done.' }),
    instanceId: t.string({
      description: 'INSTANTIATED, APPLIED and UPDATED need one (UPDATED: the new one); the others are of the current.',
    }),
    at: t.field({ type: 'DateTime', description: 'When it was done; without it: now.' }),
    compositeProfile: t.string({ description: 'The composite profile, as CREATED tells it.' }),
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
    description: 'It is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
      isRepeat: t.exposeBoolean('isRepeat', { description: 'It was known already.' }),
      rollout: t.expose('rollout', { type: Rollout, description: 'The rollout, with all its actions.' }),
    }),
  })

const RecordActionResult = builder.unionType('RecordActionResult', {
  description: 'What became of recordAction.',
  types: [RecordActionSuccess, InvalidInput, NotFound, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('recordAction', (t) =>
  t.field({
    access: 'reporter of all',
    type: RecordActionResult,
    description: 'Records what a user did with a rollout. A repeat changes nothing; what may not follow is a Conflict.',
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
