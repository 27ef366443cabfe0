import { type AppliedResource, mostItems } from '../../../domain/orchestration/orchestrated-facts.ts'
import type { Verdict } from '../../../domain/report.ts'
import { reportResources } from '../../../ingest/commands/resources.ts'
import { canShow } from '../../../ingest/dialects/kubernetes/bundle-state.ts'
import { detailLimit, toDetail } from '../../../ingest/dialects/kubernetes/detail.ts'
import { builder } from '../builder.ts'
import { RolloutKey } from '../objects/rollouts/rollout.ts'
import { SyncStatusEnum, VerdictEnum } from '../objects/vocabulary.ts'
import { checkInput } from './input-check.ts'
import { addMutation } from './mutation.ts'
import { readCluster, readRollout, rolloutDescription } from './orchestration-input.ts'
import { type InputProblem, Problem } from './user-error.ts'

const AppliedResourceInput = builder.inputType('AppliedResourceInput', {
  description: 'A resource as the orchestrator applied it.',
  fields: (t) => ({
    component: t.string({ required: true, description: 'The component that it belongs to (the app in EMCO).' }),
    cluster: t.string({ required: true, description: 'The cluster as `provider+name`.' }),
    group: t.string({ defaultValue: '', description: 'The API group. Empty for the core group.' }),
    version: t.string({ defaultValue: '', description: 'The API version.' }),
    kind: t.string({ required: true, description: 'The kind, such as Deployment.' }),
    name: t.string({ required: true, description: 'The name.' }),
    namespace: t.string({ description: 'The namespace. Absent: cluster-scoped or unknown.' }),
    sync: t.field({ type: SyncStatusEnum, defaultValue: 'PENDING', description: 'What the orchestrator did with it.' }),
    detail: t.field({
      type: 'JSON',
      description: `The object as it was applied, at most ${detailLimit / 1024} KiB. Null removes it. Absent: it keeps its value.`,
    }),
  }),
})

interface ItemVerdict {
  readonly verdict: Verdict | null
  readonly problems: readonly InputProblem[]
}

const ResourceResult = builder.objectRef<ItemVerdict>('ResourceResult').implement({
  access: 'reporter of all',
  description: 'Result for one resource of `reportResources`.',
  fields: (t) => ({
    verdict: t.expose('verdict', {
      type: VerdictEnum,
      nullable: true,
      description: 'The result of the report. Null: the resource was refused.',
    }),
    problems: t.expose('problems', {
      type: [Problem],
      description: 'Why the resource was refused. Empty: it was accepted.',
    }),
  }),
})

addMutation('reportResources', {
  access: 'reporter of all',
  description: 'Reports what an orchestrator did with resources. An invalid resource does not affect the others.',
  input: {
    description: 'The resources.',
    fields: (t) => ({
      rollout: t.field({ type: RolloutKey, required: true, description: rolloutDescription }),
      instanceId: t.string({
        required: true,
        description:
          'The ID of the instance (AppContext) that the resources belong to. A recorded action must have named it.',
      }),
      resources: t.field({
        type: [AppliedResourceInput],
        required: true,
        description: `The resources, at most ${mostItems.toLocaleString('en')}. Resources that are not listed do not change.`,
      }),
    }),
  },
  errors: ['NotFound', 'Conflict'],
  check: ({ rollout, instanceId, resources }, check) => {
    const name = readRollout(check, rollout)
    check.name(['instanceId'], instanceId)
    check.list(['resources'], resources)
    return name
  },
  act: async ({ instanceId, resources }, context, name) => {
    const items = resources.map(readResource)
    const facts = items.flatMap(({ fact }) => fact ?? [])
    const { revision, verdicts } = await context.write(reportResources(name, instanceId, facts))
    const verdict = verdicts.values()
    const results = items.map(({ fact, problems }) => ({
      verdict: fact ? (verdict.next().value ?? null) : null,
      problems,
    }))
    return { revision, results }
  },
  success: {
    description: 'The resources were processed. Each has its own result.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      results: t.expose('results', {
        type: [ResourceResult],
        description: 'One result per resource, in the order of the input.',
      }),
    }),
  },
})

function readResource(
  item: typeof AppliedResourceInput.$inferInput,
  index: number,
): { readonly fact: AppliedResource | null; readonly problems: readonly InputProblem[] } {
  const { component, kind, name, namespace, detail } = item
  const at = ['resources', index] as const
  const check = checkInput()
  check.name([...at, 'component'], component)
  check.text([...at, 'group'], item.group)
  check.text([...at, 'version'], item.version)
  check.name([...at, 'kind'], kind)
  check.name([...at, 'name'], name)
  check.text([...at, 'namespace'], namespace)
  const target = readCluster(check, [...at, 'cluster'], item.cluster)
  if (detail !== undefined && detail !== null && (typeof detail !== 'object' || Array.isArray(detail)))
    check.add([...at, 'detail'], 'must be an object')
  if (check.problems.length > 0) return { fact: null, problems: check.problems }
  const group = item.group ?? ''
  const fact: AppliedResource = {
    component,
    target,
    group,
    version: item.version ?? '',
    kind,
    name,
    namespace: namespace || null,
    sync: item.sync ?? 'PENDING',
    showable: canShow(group, kind),
    ...(detail !== undefined && { detail: toDetail(detail, detailLimit, kind) }),
  }
  return { fact, problems: [] }
}
