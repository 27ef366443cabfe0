import { type Millis, oldestRetained, type Revision } from '../../../domain/values.ts'
import type { LogHead } from '../../../store/database.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import type { Reader } from '../execution/loaders/reader.ts'

export const pastArgs = () =>
  builder.args((t) => ({
    asOf: t.field({
      type: 'DateTime',
      description: 'Show the state at the last revision at or before this time. Cannot be combined with `atRevision`.',
    }),
    atRevision: t.field({
      type: 'Revision',
      description: 'Show the state at exactly this revision. Cannot be combined with `asOf`.',
    }),
  }))

export interface PastArguments {
  readonly asOf?: Millis | null | undefined
  readonly atRevision?: Revision | null | undefined
}

/** Null: the present. */
export async function resolvePastArgs(reader: Reader, { asOf, atRevision }: PastArguments): Promise<Revision | null> {
  const revision = atRevision === oldestRetained ? (await reader.head).tail : atRevision
  return reader.past(asOf ?? null, revision ?? null)
}

/** The same, without a reader for the present. */
export async function pastOf(context: Pick<Context, 'reader'>, args: PastArguments): Promise<Revision | null> {
  const isPresent = (args.asOf ?? null) === null && (args.atRevision ?? null) === null
  return isPresent ? null : resolvePastArgs(await context.reader(), args)
}

const History = builder.objectRef<LogHead>('History').implement({
  access: 'viewer',
  description:
    'The part of the log that is retained. `asOf`, `atRevision` and cursors before it fail with HISTORY_EXPIRED.',
  fields: (t) => ({
    oldestRevision: t.field({
      type: 'Revision',
      description: 'The oldest revision that can be asked for. The changes after it are retained.',
      resolve: ({ tail }) => tail,
    }),
    oldestTime: t.field({
      type: 'DateTime',
      description: 'The earliest time that can be asked for.',
      resolve: ({ tailAt }) => tailAt,
    }),
    newestRevision: t.field({
      type: 'Revision',
      description: 'The newest revision.',
      resolve: ({ revision }) => revision,
    }),
    newestTime: t.field({
      type: 'DateTime',
      description:
        'When the newest change was recorded. For a caller with an access scope: the later of its own newest change and the time of the newest change of the fleet, rounded down to 10 seconds.',
      resolve: async (_, __, { reader }) => (await (await reader()).newest()).at,
    }),
    epoch: t.field({
      type: 'Revision',
      description:
        'The revision at which the present epoch began. A restored database begins a new epoch, above all revisions of the former ones.',
      resolve: ({ epochBase }) => epochBase,
    }),
  }),
})

builder.queryFields((t) => ({
  history: t.field({
    access: 'viewer',
    type: History,
    description: 'How far back the past can be asked for.',
    resolve: async (_, _args, { reader }) => (await reader()).head,
  }),
  revisionAt: t.field({
    access: 'viewer',
    type: 'Revision',
    description:
      'The last revision at or before a time. With it, `atRevision` asks several queries about the same moment. For a caller with an access scope: a revision at which everything that it sees was the same. It tells to 10 seconds when other changes were recorded.',
    args: { time: t.arg({ type: 'DateTime', required: true, description: 'The time (server time).' }) },
    resolve: async (_, { time }, context) => {
      const reader = await context.reader()
      return (await resolvePastArgs(reader, { asOf: time })) ?? (await reader.head).revision
    },
  }),
}))
