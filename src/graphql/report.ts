import type { Revision } from '../domain/deployment.ts'
import type { ReportRow } from '../store/reports.ts'
import { builder } from './builder.ts'
import { type Connection, connect, implementConnection, type PageArguments } from './connection.ts'
import type { Context } from './context.ts'
import { DeploymentStateEnum, VerdictEnum } from './vocabulary.ts'

export const Report = builder.objectRef<ReportRow>('Report').implement({
  access: 'viewer',
  description: 'A report that was acknowledged, as it was heard.',
  fields: (t) => ({
    id: t.id({
      description: 'Opaque.',
      resolve: ({ deploymentKey, key }) => Buffer.from(`Report:${deploymentKey}:${key}`).toString('base64url'),
    }),
    verdict: t.expose('verdict', { type: VerdictEnum, description: 'What became of it.' }),
    staleBy: t.exposeString('staleBy', {
      nullable: true,
      description: 'By which key a STALE one was older: `adoptedManifestVersion`, `seq` or `observedAt`.',
    }),
    reportedAt: t.expose('reportedAt', { type: 'DateTime', nullable: true, description: "The reporter's clock." }),
    receivedAt: t.expose('receivedAt', { type: 'DateTime', description: 'Our clock.' }),
    sequence: t.exposeString('seq', {
      nullable: true,
      description: "The reporter's own counter, if it has one: a 64-bit number's digits.",
    }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The state it told of.' }),
    revision: t.expose('revision', {
      type: 'Revision',
      nullable: true,
      description: 'The last change it made; null for a STALE one.',
    }),
    dialect: t.exposeString('dialect', { description: 'In which wire format it came, such as `margo/2024-09`.' }),
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
