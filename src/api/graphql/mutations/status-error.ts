import type { StatusError as StatusErrorRow } from '../../../domain/values.ts'
import { builder } from '../builder.ts'

export const StatusError = builder.objectRef<StatusErrorRow>('StatusError').implement({
  access: 'viewer',
  description: 'The reported error. In state PENDING it is the reason for waiting.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A code for programs.' }),
    message: t.exposeString('message', { description: 'A text for people.' }),
    source: t.string({
      nullable: true,
      description: 'The part of the system that reports the error. Null: not reported.',
      resolve: (error) => error.source ?? null,
    }),
    isTruncated: t.boolean({
      description: 'Whether characters were left out, because code, message or source was longer than can be stored.',
      resolve: (error) => error.originalLength !== undefined,
    }),
    originalLength: t.int({
      nullable: true,
      description:
        'The number of characters that code, message and source had together, as sent. Null: nothing was left out.',
      resolve: (error) => error.originalLength ?? null,
    }),
  }),
})
