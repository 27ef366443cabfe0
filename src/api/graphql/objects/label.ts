import type { Label as LabelRow } from '../../../domain/target.ts'
import { builder } from '../builder.ts'

export const Label = builder.objectRef<LabelRow & { readonly isOwn?: boolean }>('Label').implement({
  access: 'viewer',
  description: 'A label of a target or a rollout, such as `site: munich`.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'The key, such as `site`.' }),
    value: t.exposeString('value', { description: 'The value, such as `munich`.' }),
    selfReported: t.boolean({
      description:
        'Whether the device reported the label itself, in its capabilities. Filters match such labels. Access scopes ignore them. False for labels of rollouts.',
      resolve: ({ isOwn = false }) => isOwn,
    }),
  }),
})

export const LabelInput = builder.inputType('LabelInput', {
  description: 'A label of a target or a rollout.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'The key, such as `site`.' }),
    value: t.string({ required: true, description: 'The value, such as `munich`.' }),
  }),
})
