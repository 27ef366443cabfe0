import type { Revision } from '../../domain/values.ts'
import type { ReportRow } from '../../store/sql/rows.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { type Connection, connect, implementConnection, type PageArguments } from './connection.ts'
import { DeploymentStateEnum, VerdictEnum } from './vocabulary.ts'

export const Report = builder.objectRef<ReportRow>('Report').implement({
  access: 'viewer',
  description: 'An acknowledged report.',
  fields: (t) => ({
    id: t.id({
      description: 'An opaque ID.',
      resolve: ({ deploymentKey, key }) => Buffer.from(`Report:${deploymentKey}:${key}`).toString('base64url'),
    }),
    verdict: t.expose('verdict', { type: VerdictEnum, description: 'The result of the report.' }),
    staleBy: t.exposeString('staleBy', {
      nullable: true,
      description:
        'The field in which a STALE report was older than a previous one: `adoptedManifestVersion`, `seq` or `observedAt`. Null for other verdicts.',
    }),
    reportedAt: t.expose('reportedAt', {
      type: 'DateTime',
      nullable: true,
      description: "The time in the report (reporter's clock). Null: not reported.",
    }),
    receivedAt: t.expose('receivedAt', {
      type: 'DateTime',
      description: 'When the server received the report (server time).',
    }),
    sequence: t.exposeString('seq', {
      nullable: true,
      description: "The reporter's sequence number, as a 64-bit decimal number. Null: not reported.",
    }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The reported state.' }),
    revision: t.expose('revision', {
      type: 'Revision',
      nullable: true,
      description: 'The revision of the last change that it caused. Null for a STALE report.',
    }),
    dialect: t.exposeString('dialect', { description: 'The wire format of the report, such as `margo/2024-09`.' }),
  }),
})

export const ReportConnection = implementConnection('Report', () => Report, 'reports')

export function reportsOf(
  context: Pick<Context, 'reader'>,
  deploymentKey: number,
  args: PageArguments,
  until: Revision | null,
): Connection<ReportRow> {
  return connect(
    args,
    async (page) => (await context.reader()).reports(deploymentKey, page, until),
    async () => (await context.reader()).reportCount(deploymentKey, until),
  )
}
