import type { ChangeFilter, Change as ChangeRow } from '../domain/change.ts'
import type { Revision } from '../domain/deployment.ts'
import { parseRevision } from '../store/cursor.ts'
import { builder } from './builder.ts'
import { Change, isWritten } from './change.ts'
import { type Connection, connect, implementConnection, type PageArguments, revisionPageArgs } from './connection.ts'
import type { Context } from './context.ts'
import { givenFields } from './input.ts'
import { LabelInput } from './label.ts'
import type { ChangeParent } from './loaders.ts'
import { keysOf } from './node.ts'
import { ChangeKindEnum, DeploymentStateEnum } from './vocabulary.ts'

export const ChangeConnection = implementConnection('Change', () => Change, 'changes, ascending by revision')

export const ChangeFilterRef = builder.inputType('ChangeFilter', {
  description: 'Which changes: any of the values within a field, all fields together. An empty list matches nothing.',
  fields: (t) => ({
    kinds: t.field({ type: [ChangeKindEnum], description: 'What they are about.' }),
    deploymentIds: t.stringList({ description: 'Ids that their reporters gave the deployments.' }),
    deviceIds: t.stringList({ description: 'Devices they happened on; of a move both.' }),
    rolloutIds: t.idList({ description: "Node ids of the deployments' rollouts." }),
    instanceIds: t.stringList({ description: "Ids of rollouts' instances." }),
    components: t.stringList({ description: 'Names of components.' }),
    to: t.field({ type: [DeploymentStateEnum], description: 'States that a deployment or component came to.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels, one of which the target has.' }),
  }),
})

export function toChangeFilter(input: typeof ChangeFilterRef.$inferInput | null | undefined): ChangeFilter {
  const { rolloutIds, kinds, ...rest } = input ?? {}
  // Kinds that no change has yet match nothing.
  const known = kinds?.filter(isWritten)
  return givenFields({ ...rest, kinds: known, rolloutKeys: keysOf('Rollout', rolloutIds) })
}

/** `until`: nothing later than this revision. */
export function changesOf(
  context: Pick<Context, 'reader'>,
  parent: ChangeParent,
  filter: ChangeFilter,
  args: PageArguments,
  until: Revision | null,
): Connection<ChangeRow> {
  return connect(
    args,
    async (page) => {
      const reader = await context.reader()
      // What lies between an expired cursor and the oldest change that is retained would be passed over in silence.
      if (page.after !== null) await reader.retained(parseRevision(page.after, 'after'))
      return reader.changes(parent, filter, page, until)
    },
    async () => (await context.reader()).changeCount(parent, filter, until),
  )
}

builder.queryField('changes', (t) =>
  t.field({
    access: 'viewer',
    type: ChangeConnection,
    description: 'The log of the whole fleet. Without `after` it begins with the oldest change that is retained.',
    args: { filter: t.arg({ type: ChangeFilterRef, description: 'Which of them.' }), ...revisionPageArgs() },
    resolve: (_, args, context) => changesOf(context, { of: 'fleet' }, toChangeFilter(args.filter), args, null),
  }),
)
