import type { StatusError as StatusErrorRow } from '../domain/deployment.ts'
import { builder } from './builder.ts'

export const StatusError = builder.objectRef<StatusErrorRow>('StatusError').implement({
  access: 'viewer',
  description: 'Why, in the words of the reporter. On PENDING it is the reason for waiting.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'For machines.' }),
    message: t.exposeString('message', { description: 'For people.' }),
    source: t.string({
      nullable: true,
      description: 'What part of the system says so.',
      resolve: (error) => error.source ?? null,
    }),
  }),
})
