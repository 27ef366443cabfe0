import type { Verdict } from '../../domain/report.ts'
import type { Revision } from '../../domain/values.ts'
import { setConnectivity } from '../../ingest/commands/resources.ts'
import { builder } from '../builder.ts'
import type { TargetNode } from '../execution/loaders.ts'
import { required } from '../execution/required.ts'
import { Cluster } from '../objects/refs.ts'
import { ConnectivityEnum, VerdictEnum } from '../objects/vocabulary.ts'
import { checkInput } from './input-check.ts'
import { readCluster } from './orchestration-input.ts'
import { attempt, Forbidden, InvalidInput } from './user-error.ts'

const ReportConnectivityInput = builder.inputType('ReportConnectivityInput', {
  description: 'Input of `reportConnectivity`.',
  fields: (t) => ({
    cluster: t.string({
      required: true,
      description: 'The cluster as `provider+name`. It is created if it does not exist.',
    }),
    connectivity: t.field({ type: ConnectivityEnum, required: true, description: 'Whether it can be reached.' }),
  }),
})

const ReportConnectivitySuccess = builder
  .objectRef<{
    readonly type: 'ReportConnectivitySuccess'
    readonly revision: Revision
    readonly verdict: Verdict
    readonly cluster: TargetNode
  }>('ReportConnectivitySuccess')
  .implement({
    access: 'reporter of all',
    description: 'The connectivity is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      verdict: t.expose('verdict', { type: VerdictEnum, description: 'What the report changed.' }),
      cluster: t.expose('cluster', { type: Cluster, description: 'The cluster.' }),
    }),
  })

const ReportConnectivityResult = builder.unionType('ReportConnectivityResult', {
  description: 'Result of `reportConnectivity`.',
  types: [ReportConnectivitySuccess, InvalidInput, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('reportConnectivity', (t) =>
  t.field({
    access: 'reporter of all',
    type: ReportConnectivityResult,
    description: 'Reports whether a cluster can be reached.',
    args: {
      input: t.arg({ type: ReportConnectivityInput, required: true, description: 'The cluster and its connectivity.' }),
    },
    resolve: (_, { input: { cluster, connectivity } }, context) => {
      const check = checkInput()
      const target = readCluster(check, ['cluster'], cluster)
      return attempt(['InvalidInput', 'Forbidden'], check.problems, async () => {
        const { revision, verdict, targetKey } = await context.write(setConnectivity(target, connectivity))
        const made = required(await (await context.reader()).target(targetKey, null), 'cluster')
        return { type: 'ReportConnectivitySuccess' as const, revision, verdict, cluster: made }
      })
    },
  }),
)
