import { parseBundleState } from '../../dialects/emco/bundle-state.ts'
import type { Verdict } from '../../domain/report.ts'
import type { Revision } from '../../domain/values.ts'
import { reportStateSnapshot } from '../../ingest/commands/resources.ts'
import { paced } from '../../limits/pace.ts'
import { builder } from '../builder.ts'
import { RolloutKey } from '../objects/rollout.ts'
import { VerdictEnum } from '../objects/vocabulary.ts'
import { checkInput } from './input-check.ts'
import { readCluster, readRollout, rolloutDescription } from './orchestration-input.ts'
import { attempt, Conflict, Forbidden, type InputProblem, InvalidInput, NotFound, Problem } from './user-error.ts'

const ReportResourceBundleStateInput = builder.inputType('ReportResourceBundleStateInput', {
  description: 'Input of `reportResourceBundleState`.',
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
})

const ReportResourceBundleStateSuccess = builder
  .objectRef<{
    readonly type: 'ReportResourceBundleStateSuccess'
    readonly revision: Revision
    readonly verdict: Verdict
    readonly unreadable: readonly InputProblem[]
  }>('ReportResourceBundleStateSuccess')
  .implement({
    access: 'reporter of all',
    description: 'The snapshot is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      verdict: t.expose('verdict', { type: VerdictEnum, description: 'What the snapshot changed.' }),
      unreadable: t.expose('unreadable', {
        type: [Problem],
        description: 'Entries that could not be read. All other entries are recorded.',
      }),
    }),
  })

const ReportResourceBundleStateResult = builder.unionType('ReportResourceBundleStateResult', {
  description: 'Result of `reportResourceBundleState`.',
  types: [ReportResourceBundleStateSuccess, InvalidInput, NotFound, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('reportResourceBundleState', (t) =>
  t.field({
    access: 'reporter of all',
    type: ReportResourceBundleStateResult,
    description:
      "Records a complete snapshot of an app's resources in a cluster. Resources that are not listed count as not present.",
    args: { input: t.arg({ type: ReportResourceBundleStateInput, required: true, description: 'The snapshot.' }) },
    resolve: (_, { input: { rollout, cluster, resourceBundleState } }, context) => {
      const check = checkInput()
      const name = readRollout(check, rollout)
      const target = readCluster(check, ['cluster'], cluster)
      return attempt(['InvalidInput', 'NotFound', 'Conflict', 'Forbidden'], check.problems, async () => {
        const { unreadable, ...picture } = await paced(parseBundleState(resourceBundleState))
        const { revision, verdict } = await context.write(reportStateSnapshot(name, { ...picture, target }))
        return {
          type: 'ReportResourceBundleStateSuccess' as const,
          revision,
          verdict,
          unreadable: unreadable.map(({ field, message }) => ({ path: ['resourceBundleState', field], message })),
        }
      })
    },
  }),
)
