import type { Millis, Revision } from '../../domain/values.ts'
import { builder } from '../builder.ts'
import type { Reader } from '../execution/loaders.ts'

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
export function resolvePastArgs(reader: Reader, args: PastArguments): Promise<Revision | null> {
  return reader.past(args.asOf ?? null, args.atRevision ?? null)
}
