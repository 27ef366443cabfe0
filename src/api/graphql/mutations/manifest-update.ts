/** The author and reason of a change to the desired state, and the bundle that devices fetch. */

import type { ManifestUpdate } from '../../../ingest/commands/declared-documents.ts'
import { desiredFormat } from '../../../ingest/dialects/index.ts'
import { digestOf } from '../../../platform/body/digest.ts'
import type { Context } from '../execution/context.ts'

export function manifestUpdateOf({ principal }: Pick<Context, 'principal'>, reason: string | null): ManifestUpdate {
  return {
    cause: { caller: principal.name, why: reason ?? '' },
    bundle: (documents) => {
      const bytes = desiredFormat.createBundle(documents)
      return { digest: digestOf(bytes), size: bytes.length }
    },
  }
}
