import { DomainError } from '../../../domain/errors.ts'
import { reportFilter } from '../../../domain/nouns/report.ts'
import type { ComponentReport } from '../../../domain/report.ts'
import type { Revision } from '../../../domain/values.ts'
import { isServed } from '../../../store/read/reports/reports.ts'
import type { ReportRow } from '../../../store/sql/rows.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { StatusError } from '../mutations/status-error.ts'
import { type Connection, connect, implementConnection, type PageArguments, pageArgs } from './connection.ts'
import { Node } from './interfaces.ts'
import { Deployment } from './refs.ts'
import { implementFilter } from './selectors/selector.ts'
import { DeploymentStateEnum, VerdictEnum } from './vocabulary.ts'

const ReportedComponent = builder.objectRef<ComponentReport>('ReportedComponent').implement({
  access: 'viewer',
  description: 'A component in a report.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name, unique within the deployment.' }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The reported state.' }),
    error: t.expose('error', { type: StatusError, nullable: true, description: 'The reported error.' }),
    notUnderstood: t.string({
      nullable: true,
      description: 'What the report says about it, if that was not understood: state and error are those of before.',
      resolve: ({ unread }) => unread ?? null,
    }),
  }),
})

export const Report = builder.objectRef<ReportRow>('Report').implement({
  access: 'viewer',
  description: 'An acknowledged report.',
  interfaces: [Node],
  fields: (t) => ({
    deployment: t.field({
      type: Deployment,
      nullable: true,
      description: "The deployment in its present state. Null: it is now outside the caller's access scope.",
      resolve: async ({ deploymentKey }, _, { reader }) =>
        (await (await reader()).deployment(deploymentKey, null)) ?? null,
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
    adoptedManifestVersion: t.exposeString('adoptedManifestVersion', {
      nullable: true,
      description: 'The reported manifest version, as a 64-bit decimal number. Null: not reported.',
    }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The reported state.' }),
    error: t.field({
      type: StatusError,
      nullable: true,
      description: 'The reported error of the deployment.',
      resolve: async (report, _, { reader }) => (await (await reader()).reportErrors(keyOf(report))) ?? null,
    }),
    components: t.field({
      type: [ReportedComponent],
      nullable: true,
      description:
        'The components. STALE: as reported. APPLIED: of the deployment after the report. Null: no longer retained.',
      resolve: async (report, _, { reader }) => (await (await reader()).reportComponents(keyOf(report))) ?? null,
    }),
    revision: t.expose('revision', {
      type: 'Revision',
      nullable: true,
      description: 'The revision of the last change that it caused. Null for a STALE report.',
    }),
    dialect: t.exposeString('dialect', { description: 'The wire format of the report, such as `margo/2024-09`.' }),
  }),
})

function keyOf({ deploymentKey, key }: ReportRow) {
  return { deploymentKey, key }
}

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

const { ref: ReportFilterRef, read: toReportFilter } = implementFilter(reportFilter)

builder.queryFields((t) => ({
  reports: t.field({
    access: 'viewer',
    type: ReportConnection,
    description:
      'Retained reports of the whole fleet, newest first. The filter must have `deploymentIds`, or STALE as the only verdict: no index has other reports.',
    args: { filter: t.arg({ type: ReportFilterRef, required: true, description: 'Selects reports.' }), ...pageArgs() },
    resolve: (_, args, context) => {
      const filter = toReportFilter(args.filter)
      if (!isServed(filter))
        throw new DomainError('BAD_USER_INPUT', 'filter must have deploymentIds, or verdicts: [STALE]')
      return connect(
        args,
        async (page) => (await context.reader()).fleetReports(filter, page),
        async () => (await context.reader()).fleetReportCount(filter),
      )
    },
  }),
}))
