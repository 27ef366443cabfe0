import type { Label as LabelRow } from '../domain/target.ts'
import { builder } from './builder.ts'

export const Label = builder.objectRef<LabelRow>('Label').implement({
  access: 'viewer',
  description: 'What somebody calls a target, such as `site: munich`.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'What it is about.' }),
    value: t.exposeString('value', { description: 'What holds for this target.' }),
  }),
})

export const LabelInput = builder.inputType('LabelInput', {
  description: 'A label.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'What it is about.' }),
    value: t.string({ required: true, description: 'What holds for the target.' }),
  }),
})
