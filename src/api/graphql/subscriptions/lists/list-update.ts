/** The GraphQL types and arguments that all live lists share. */
import { DomainError } from '../../../../domain/errors.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { WatchOptions } from '../../../../feed/watch-stream.ts'
import { builder, type SchemaTypes } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { selectedFields } from '../../execution/selection.ts'
import { defaultPageSize, maxPageSize } from '../../guards/page-size.ts'
import { encodeNodeId } from '../../objects/node.ts'
import type { Source } from '../event-source.ts'
import { FeedReset, resumedFrom } from '../feed-event.ts'
import { type StateOptions, streamState } from '../state-stream.ts'
import { ListChangeEnum } from './list-change.ts'
import { type ListReads, type ListUpdate, reactToList } from './live-list.ts'

interface ListType<Row> {
  readonly name: 'Deployment' | 'Device' | 'Resource'
  /** The name of the field that has the row. */
  readonly field: string
  /** What the rows are, in the plural. */
  readonly of: string
  readonly type: PothosSchemaTypes.ObjectRef<SchemaTypes, Row>
  /** Reads what the selected fields of all rows need. */
  readonly gather?: (rows: readonly Row[], selected: ReadonlySet<string>, context: Context) => Promise<unknown>
}

export function implementListUpdate<Row>({ name, field, of, type, gather }: ListType<Row>) {
  const ListRow = builder.objectRef<ListUpdate<Row>['rows'][number]>(`${name}ListRow`).implement({
    access: 'viewer',
    description: 'A row of a live list that is new or has changed.',
    fields: (t) => ({
      change: t.expose('change', { type: ListChangeEnum, description: 'What happened to it.' }),
      position: t.exposeInt('position', { description: 'Number of rows before it in the list after the update.' }),
      // Pothos cannot infer that Row is not a list.
      [field]: t.field({ type, description: `The ${field} as of the cursor.`, resolve: ({ row }) => row as never }),
    }),
  })
  return builder.objectRef<ListUpdate<Row>>(`${name}ListUpdate`).implement({
    access: 'viewer',
    description:
      'What changed in a live list. To apply it, take the rows of `removed` and of `rows` out of the list, then insert each of `rows` at its position, in their order.',
    fields: (t) => ({
      cursor: t.expose('cursor', {
        type: 'Revision',
        description:
          'The revision that the list reflects after this update. Resume with `after`. It is also the ID of the server-sent event.',
      }),
      isSnapshot: t.exposeBoolean('isSnapshot', {
        description: 'True: `rows` is the whole list, which replaces all rows that the client has.',
      }),
      reset: t.expose('reset', {
        type: FeedReset,
        nullable: true,
        description:
          'Why a subscription that resumed gets the whole list. Null: it does not, or its filter has no history.',
      }),
      rows: t.field({
        type: [ListRow],
        description: 'The rows that are new or have changed, by position.',
        resolve: async ({ rows }, _, context, info) => {
          const selected = selectedFields(info, [field])
          await gather?.(
            rows.map(({ row }) => row),
            selected,
            context,
          )
          return rows
        },
      }),
      removed: t.idList({
        description: `Node IDs of the ${of} that are no longer in the list.`,
        resolve: ({ removed }) => removed.map((key) => encodeNodeId(name, key, null)),
      }),
      hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there are rows after the last one.' }),
    }),
  })
}

/** `withoutHistory`: the filters and orders with which a subscriber that resumes gets the whole list. */
export const liveListArgs = (withoutHistory: string) =>
  builder.args((t) => ({
    first: t.int({
      required: true,
      defaultValue: defaultPageSize,
      description: `Number of rows: 1 to ${maxPageSize}.`,
    }),
    after: t.field({
      type: 'Revision',
      description: `The cursor of the last update that the client applied. The first update has what changed since then. With ${withoutHistory}, it is the whole list. The header \`Last-Event-ID\` of server-sent events takes precedence.`,
    }),
  }))

/** `key`: what distinguishes it from other lists with as many rows. */
export function streamList<Row, Candidates>(
  context: Context,
  key: string,
  watch: WatchOptions & StateOptions,
  reads: ListReads<Row, Candidates>,
  { first, after }: { readonly first: number; readonly after?: Revision | null | undefined },
): Source<ListUpdate<Row>> {
  if (first < 1 || first > maxPageSize)
    throw new DomainError('BAD_USER_INPUT', `first must be from 1 to ${maxPageSize}, but is ${first}`)
  return streamState(
    context,
    `${key} ${first}`,
    watch,
    reactToList(reads, first, resumedFrom(context) ?? after ?? null),
  )
}
