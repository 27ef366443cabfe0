/** The author and reason of a change to the desired state, and the bundle that devices fetch. */
import { createBundle } from '../../dialects/margo/bundle.ts'
import { digestOf } from '../../dialects/margo/digest.ts'
import type { ManifestUpdate } from '../../ingest/commands/declare.ts'
import type { Context } from '../execution/context.ts'

export function manifestUpdateOf({ principal }: Pick<Context, 'principal'>, reason: string | null): ManifestUpdate {
  return {
    cause: { caller: principal.name, why: reason ?? '' },
    bundle: (documents) => {
      const bytes = createBundle(documents)
      return { digest: digestOf(bytes), size: bytes.length }
    },
  }
}
