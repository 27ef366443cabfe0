/** A dialect that no system speaks: reading, recording and answering with what every dialect has. */

import { DomainError } from '../../../src/domain/errors.ts'
import { resourceBundle } from '../../../src/domain/rollout.ts'
import { type Dialect, reading, recording } from '../../../src/ingest/dialects/dialect.ts'
import { readIds } from '../../../src/ingest/dialects/router.ts'
import { largeJson } from '../../../src/platform/body/rule.ts'

const body = largeJson(64)

export const lighthouse: Dialect = {
  name: 'lighthouse',
  contract: async () => ({ tag: 'Lighthouses', description: '', operations: {}, schemas: {}, parameters: {} }),
  routes: [
    {
      template: '/lighthouses/:lamp',
      read(segments) {
        const { lamp = '' } = readIds(segments)
        return {
          PUT: recording('light', body, (sent) => {
            const { isLit } = sent as { readonly isLit?: unknown }
            if (typeof isLit !== 'boolean')
              throw new DomainError('SEMANTIC_ERROR', 'The lamp is refused: isLit must be true or false.', {
                problems: [{ field: 'isLit', message: 'must be true or false' }],
              })
            const place = { rollout: resourceBundle('lamp', '1', ''), cloudRegion: 'coast', component: 'lamp' }
            const reportedState = isLit ? 'INSTALLED' : 'FAILED'
            const rest = { isEnding: false, resources: [], document: '{}' }
            const instance = { instanceId: lamp, ...place, reportedState, ...rest } as const
            return reading({ of: 'instance', instance }, ({ verdict }) => ({ status: 202, json: { verdict } }))
          }),
          GET: {
            operation: 'look',
            does: 'show',
            access: 'viewer',
            show: () => async (readers) => ({ json: { isLit: (await readers.instance(lamp))?.reportedState } }),
          },
        }
      },
    },
  ],
}
