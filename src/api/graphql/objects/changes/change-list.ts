import type { Change as ChangeRow } from '../../../../domain/change.ts'
import { type ChangeFilter, changeFilter } from '../../../../domain/nouns/change.ts'
import type { Revision } from '../../../../domain/values.ts'
import { parseRevision } from '../../../../store/sql/cursor.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { ChangeParent } from '../../execution/loaders/parents.ts'
import { type Connection, connect, implementConnection, type PageArguments, revisionPageArgs } from '../connection.ts'
import { Change } from '../refs.ts'
import { implementFilter } from '../selectors/selector.ts'

export const ChangeConnection = implementConnection('Change', () => Change, 'changes, ascending by revision')

export const { ref: ChangeFilterRef, read: toChangeFilter } = implementFilter(changeFilter)

/** `until`: the last revision to return. */
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
      // Otherwise the changes between an expired cursor and the oldest retained change would be skipped silently.
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
    description: 'The change log of the whole fleet. Without `after`, it starts with the oldest retained change.',
    args: { filter: t.arg({ type: ChangeFilterRef, description: 'Selects changes.' }), ...revisionPageArgs() },
    resolve: (_, args, context) => changesOf(context, { of: 'fleet' }, toChangeFilter(args.filter), args, null),
  }),
)
