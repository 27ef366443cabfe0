import type { Revision } from '../domain/deployment.ts'
import type { Drift as DriftRow } from '../store/audit.ts'
import { builder } from './builder.ts'

const Drift = builder.objectRef<DriftRow>('Drift').implement({
  access: 'admin of all',
  description: 'A counter that differs from a recount.',
  fields: (t) => ({
    scope: t.exposeString('scope', {
      description: 'Whose counter: `fleet`, `rollout:` and its name, or `resources:#` and a key.',
    }),
    field: t.exposeString('field', { description: 'Which counter.' }),
    counted: t.exposeInt('counted', { description: 'What the counter says.' }),
    recounted: t.exposeInt('recounted', { description: 'What there is.' }),
  }),
})

const Audit = builder
  .objectRef<{ readonly revision: Revision; readonly drift: readonly DriftRow[] }>('Audit')
  .implement({
    access: 'admin of all',
    description: 'A recount of everything that is kept as a number.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'As of which revision was counted.' }),
      drift: t.expose('drift', { type: [Drift], description: 'What differs; empty when all is well.' }),
    }),
  })

builder.queryFields((t) => ({
  audit: t.field({
    access: 'admin of all',
    type: Audit,
    description: 'Recounts everything, one audit at a time. Its cost grows with the fleet.',
    resolve: (_, __, context) =>
      context.audit(async () => {
        const reader = await context.reader()
        return { revision: (await reader.head).revision, drift: await reader.drift() }
      }),
  }),
  revision: t.field({
    access: 'viewer',
    type: 'Revision',
    description: 'As of which revision this whole answer is: `changes(after:)` with it continues without a gap.',
    resolve: async (_, __, context) => (await (await context.reader()).head).revision,
  }),
}))
