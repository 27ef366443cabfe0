/** The author and reason of a change to the desired state, and the bundle that devices fetch. */

import type { ManifestUpdate } from '../../../ingest/commands/declare.ts'
import { createBundle } from '../../../ingest/dialects/margo/bundle.ts'
import { digestOf } from '../../../ingest/dialects/margo/digest.ts'
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
