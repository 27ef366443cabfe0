import { parseBundleState } from '../dialects/emco/bundle-state.ts'
import type { Revision } from '../domain/deployment.ts'
import type { Verdict } from '../domain/report.ts'
import { reportPicture } from '../ingest/commands/resources.ts'
import { builder } from './builder.ts'
import { checkInput } from './input-check.ts'
import { readCluster, readRollout, rolloutDescription } from './orchestration-input.ts'
import { RolloutKey } from './rollout.ts'
import { attempt, Conflict, Forbidden, type InputProblem, InvalidInput, NotFound, Problem } from './user-error.ts'
import { VerdictEnum } from './vocabulary.ts'

const ReportResourceBundleStateInput = builder.inputType('ReportResourceBundleStateInput', {
  description: 'What reportResourceBundleState takes.',
  fields: (t) => ({
    rollout: t.field({ type: RolloutKey, required: true, description: rolloutDescription }),
    cluster: t.string({ required: true, description: 'The cluster that shows it: `provider+name`.' }),
    resourceBundleState: t.field({
      type: 'JSON',
      required: true,
      description:
        'The custom resource (k8splugin.io/v1alpha1) as it is. Its label `emco/deployment-id` names context and app.',
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
    description: 'The picture is taken.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
      verdict: t.expose('verdict', { type: VerdictEnum, description: 'What became of it.' }),
      unreadable: t.expose('unreadable', {
        type: [Problem],
        description: 'Entries that could not be read; the others count all the same.',
      }),
    }),
  })

const ReportResourceBundleStateResult = builder.unionType('ReportResourceBundleStateResult', {
  description: 'What became of reportResourceBundleState.',
  types: [ReportResourceBundleStateSuccess, InvalidInput, NotFound, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('reportResourceBundleState', (t) =>
  t.field({
    access: 'reporter of all',
    type: ReportResourceBundleStateResult,
    description: 'Takes what a cluster shows of an app: the whole present picture. What it does not list is not there.',
    args: { input: t.arg({ type: ReportResourceBundleStateInput, required: true, description: 'The picture.' }) },
    resolve: (_, { input: { rollout, cluster, resourceBundleState } }, context) => {
      const check = checkInput()
      const name = readRollout(check, rollout)
      const target = readCluster(check, ['cluster'], cluster)
      return attempt(['InvalidInput', 'NotFound', 'Conflict', 'Forbidden'], check.problems, async () => {
        const { unreadable, ...picture } = parseBundleState(resourceBundleState)
        const { revision, verdict } = await context.write(reportPicture(name, { ...picture, target }))
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
