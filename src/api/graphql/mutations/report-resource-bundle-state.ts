import { reportStateSnapshot } from '../../../ingest/commands/resources.ts'
import { parseBundleState } from '../../../ingest/dialects/kubernetes/bundle-state.ts'
import { paced } from '../../../platform/limits/pace.ts'
import { RolloutKey } from '../objects/rollouts/rollout.ts'
import { VerdictEnum } from '../objects/vocabulary.ts'
import { addMutation } from './mutation.ts'
import { readCluster, readRollout, rolloutDescription } from './orchestration-input.ts'
import { Problem } from './user-error.ts'

addMutation('reportResourceBundleState', {
  access: 'reporter of all',
  description:
    "Records a complete snapshot of an app's resources in a cluster. Resources that are not listed count as not present.",
  input: {
    description: 'The snapshot.',
    fields: (t) => ({
      rollout: t.field({ type: RolloutKey, required: true, description: rolloutDescription }),
      cluster: t.string({ required: true, description: 'The cluster that reports it, as `provider+name`.' }),
      resourceBundleState: t.field({
        type: 'JSON',
        required: true,
        description:
          'The unmodified custom resource (k8splugin.io/v1alpha1). Its label `emco/deployment-id` names the instance and the app.',
      }),
    }),
  },
  errors: ['NotFound', 'Conflict'],
  check: ({ rollout, cluster }, check) => ({
    name: readRollout(check, rollout),
    target: readCluster(check, ['cluster'], cluster),
  }),
  act: async ({ resourceBundleState }, context, { name, target }) => {
    const { unreadable, ...snapshot } = await paced(parseBundleState(resourceBundleState))
    const { revision, verdict } = await context.write(reportStateSnapshot(name, { ...snapshot, target }))
    const problems = unreadable.map(({ field, message }) => ({ path: ['resourceBundleState', field], message }))
    return { revision, verdict, unreadable: problems }
  },
  success: {
    description: 'The snapshot is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      verdict: t.expose('verdict', { type: VerdictEnum, description: 'The result of the snapshot.' }),
      unreadable: t.expose('unreadable', {
        type: [Problem],
        description: 'Entries that could not be read. All other entries are recorded.',
      }),
    }),
  },
})
