import { DomainError } from '../../../domain/errors.ts'
import type { Revision } from '../../../domain/values.ts'
import { setRolloutLabels } from '../../../ingest/commands/rollout-labels.ts'
import type { Context } from '../execution/context.ts'
import { required } from '../execution/required.ts'
import { LabelInput } from '../objects/label.ts'
import { keysOf } from '../objects/node.ts'
import { pastOf } from '../objects/past.ts'
import { Rollout } from '../objects/refs.ts'
import { checkLabels } from './check-labels.ts'
import { addMutation } from './mutation.ts'

addMutation('setRolloutLabels', {
  access: 'operator of all',
  description: 'Sets the labels of a rollout. Setting the labels that it has changes nothing.',
  input: {
    description: 'The rollout and its labels.',
    fields: (t) => ({
      rolloutId: t.id({ required: true, description: 'The node ID of the rollout.' }),
      labels: t.field({
        type: [LabelInput],
        required: true,
        description: 'All labels, at most 100, each with a key of its own. The list replaces the previous one.',
      }),
      ifRevision: t.field({
        type: 'Revision',
        description:
          'The revision at which the labels were read. If they have changed since, nothing is set and Conflict is returned. Absent: always set.',
      }),
    }),
  },
  errors: ['NotFound', 'Conflict'],
  check: ({ labels }, check) => checkLabels(check, ['labels'], labels),
  act: async ({ rolloutId, labels, ifRevision = null }, context) => {
    const read = await knownRevision(context, ifRevision)
    // -1 is never a key.
    const key = keysOf('Rollout', [rolloutId])?.[0] ?? -1
    const { revision } = await context.write(setRolloutLabels(key, labels, read))
    return { revision, rollout: required(await (await context.reader()).rollout(key, null), 'rollout') }
  },
  success: {
    access: 'operator',
    description: 'The rollout has these labels.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      rollout: t.expose('rollout', { type: Rollout, description: 'The rollout.' }),
    }),
  },
})

/** Throws CONFLICT: a revision of another epoch says nothing about these labels, and one that has expired is not known to be of this epoch. */
async function knownRevision(context: Pick<Context, 'reader'>, revision: Revision | null): Promise<Revision | null> {
  try {
    return await pastOf(context, { atRevision: revision })
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'HISTORY_EXPIRED') throw error
    const message = `${error.message}: read the labels again`
    throw new DomainError('CONFLICT', message, { problems: [{ field: 'ifRevision', message }] })
  }
}
