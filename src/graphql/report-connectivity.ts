import type { Revision } from '../domain/deployment.ts'
import type { Verdict } from '../domain/report.ts'
import { setConnectivity } from '../ingest/commands/resources.ts'
import { builder } from './builder.ts'
import { checkInput } from './input-check.ts'
import type { TargetNode } from './loaders.ts'
import { readCluster } from './orchestration-input.ts'
import { required } from './required.ts'
import { Cluster } from './target.ts'
import { attempt, Forbidden, InvalidInput } from './user-error.ts'
import { ConnectivityEnum, VerdictEnum } from './vocabulary.ts'

const ReportConnectivityInput = builder.inputType('ReportConnectivityInput', {
  description: 'What reportConnectivity takes.',
  fields: (t) => ({
    cluster: t.string({
      required: true,
      description: 'Which cluster: `provider+name`. It is made if it is not known.',
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
    description: 'It is known.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
      verdict: t.expose('verdict', { type: VerdictEnum, description: 'What became of it.' }),
      cluster: t.expose('cluster', { type: Cluster, description: 'The cluster.' }),
    }),
  })

const ReportConnectivityResult = builder.unionType('ReportConnectivityResult', {
  description: 'What became of reportConnectivity.',
  types: [ReportConnectivitySuccess, InvalidInput, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('reportConnectivity', (t) =>
  t.field({
    access: 'reporter of all',
    type: ReportConnectivityResult,
    description: 'Says whether a cluster can be reached.',
    args: { input: t.arg({ type: ReportConnectivityInput, required: true, description: 'Which, and whether.' }) },
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
