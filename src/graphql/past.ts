import type { Millis, Revision } from '../domain/deployment.ts'
import { builder } from './builder.ts'
import type { Reader } from './loaders.ts'

export const pastArgs = () =>
  builder.args((t) => ({
    asOf: t.field({
      type: 'DateTime',
      description: 'Answer as of the last revision at or before this time. Not together with `atRevision`.',
    }),
    atRevision: t.field({ type: 'Revision', description: 'Answer as of exactly this revision.' }),
  }))

export interface PastArguments {
  readonly asOf?: Millis | null | undefined
  readonly atRevision?: Revision | null | undefined
}

/** Null: the present. */
export function resolvePastArgs(reader: Reader, args: PastArguments): Promise<Revision | null> {
  return reader.past(args.asOf ?? null, args.atRevision ?? null)
}
