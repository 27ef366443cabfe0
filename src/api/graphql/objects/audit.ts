import type { Revision } from '../../../domain/values.ts'
import { secondsAhead } from '../../../store/connection/log-head.ts'
import type { Drift as DriftRow } from '../../../store/read/counts/drift.ts'
import { builder } from '../builder.ts'

const Drift = builder.objectRef<DriftRow>('Drift').implement({
  access: 'admin of all',
  description: 'A stored counter that differs from a recount.',
  fields: (t) => ({
    scope: t.exposeString('scope', {
      description:
        'What the counter belongs to: `fleet`, `rollout:` and the name, `checkpoint:#` with the key of a rollout (0: the fleet) and a revision, or `resources:#` and a key.',
    }),
    field: t.exposeString('field', { description: 'The name of the counter.' }),
    counted: t.exposeInt('counted', { description: 'Number of deployments that the stored counter has.' }),
    recounted: t.exposeInt('recounted', { description: 'Number of deployments in a recount.' }),
  }),
})

const Audit = builder
  .objectRef<{ readonly revision: Revision; readonly logAheadSeconds: number; readonly drift: readonly DriftRow[] }>(
    'Audit',
  )
  .implement({
    access: 'admin of all',
    description: 'Result of a recount of all stored counters.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The revision that the recount reflects.' }),
      logAheadSeconds: t.exposeInt('logAheadSeconds', {
        description:
          "Seconds by which the log's time is ahead of the server's clock. Above 0 after the clock jumped ahead. Changes then get the same time until the clock has reached it, or until `npm run new-epoch` begins an epoch with the correct time.",
      }),
      drift: t.expose('drift', { type: [Drift], description: 'The counters that differ. Empty if all are correct.' }),
    }),
  })

builder.queryFields((t) => ({
  audit: t.field({
    access: 'admin of all',
    type: Audit,
    description:
      'Recounts all stored counters and compares them. The cost grows with the fleet. Only one audit runs at a time.',
    resolve: (_, __, context) =>
      context.audit(async () => {
        const reader = await context.reader()
        const head = await reader.head
        return {
          revision: head.revision,
          logAheadSeconds: secondsAhead(head, context.clock()),
          drift: await reader.drift(),
        }
      }),
  }),
  revision: t.field({
    access: 'viewer',
    type: 'Revision',
    description:
      'The revision that this whole response reflects. `changes(after:)` with this value continues without a gap.',
    resolve: async (_, __, context) => (await (await context.reader()).head).revision,
  }),
}))
