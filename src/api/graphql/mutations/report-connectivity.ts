import { reportConnectivity } from '../../../ingest/commands/connectivity.ts'
import { required } from '../execution/required.ts'
import { Cluster } from '../objects/refs.ts'
import { ConnectivityEnum, VerdictEnum } from '../objects/vocabulary.ts'
import { addMutation } from './mutation.ts'
import { readCluster } from './orchestration-input.ts'

addMutation('reportConnectivity', {
  access: 'reporter of all',
  description: 'Reports whether a cluster can be reached.',
  input: {
    description: 'The cluster and its connectivity.',
    fields: (t) => ({
      cluster: t.string({
        required: true,
        description: 'The cluster as `provider+name`. It is created if it does not exist.',
      }),
      connectivity: t.field({ type: ConnectivityEnum, required: true, description: 'Whether it can be reached.' }),
    }),
  },
  check: ({ cluster }, check) => readCluster(check, ['cluster'], cluster),
  act: async ({ connectivity }, context, target) => {
    const { revision, verdict, targetKey } = await context.write(reportConnectivity(target, connectivity))
    const cluster = required(await (await context.reader()).target(targetKey, null), 'cluster')
    return { revision, verdict, cluster }
  },
  success: {
    description: 'The connectivity is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      verdict: t.expose('verdict', { type: VerdictEnum, description: 'The result of the report.' }),
      cluster: t.expose('cluster', { type: Cluster, description: 'The cluster.' }),
    }),
  },
})
