/** What orchestrators tell, as mutations: the same facts, the same road and the same words as the routes of EMCO's dialect. */
import { canShow, parseBundleState } from '../dialects/emco/bundle-state.ts'
import { mostItems } from '../dialects/emco/feed.ts'
import { type ClusterName, parseCluster } from '../dialects/emco/routes.ts'
import { detailLimit, toDetail } from '../dialects/kubernetes/detail.ts'
import type { Revision } from '../domain/deployment.ts'
import type { Verdict } from '../domain/report.ts'
import { clusterIntents, deploymentIntentGroup } from '../domain/rollout.ts'
import { type LifecycleRolloutName, recordActions } from '../ingest/commands/act.ts'
import { type AppliedResource, reportPicture, reportResources, setConnectivity } from '../ingest/commands/resources.ts'
import type { RolloutRow } from '../store/rollouts.ts'
import { builder } from './builder.ts'
import { checkInput, type InputCheck } from './input-check.ts'
import type { TargetNode } from './loaders.ts'
import { required } from './required.ts'
import { Rollout, RolloutKey } from './rollout.ts'
import { Cluster } from './target.ts'
import { attempt, Conflict, Forbidden, type InputProblem, InvalidInput, NotFound, Problem } from './user-error.ts'
import { ConnectivityEnum, LifecycleStateEnum, SyncStatusEnum, VerdictEnum } from './vocabulary.ts'

const refusals = ['InvalidInput', 'NotFound', 'Conflict', 'Forbidden'] as const

const rolloutDescription =
  'The rollout: a deployment intent group by project, composite application, its version and name, or a cluster’s network intents by provider and the cluster’s name.'

const RecordActionInput = builder.inputType('RecordActionInput', {
  description: 'What recordAction takes.',
  fields: (t) => ({
    rollout: t.field({ type: RolloutKey, required: true, description: `${rolloutDescription} CREATED makes it.` }),
    state: t.field({ type: LifecycleStateEnum, required: true, description: 'What was done.' }),
    instanceId: t.string({
      description: 'INSTANTIATED, APPLIED and UPDATED need one (UPDATED: the new one); the others are of the current.',
    }),
    at: t.field({ type: 'DateTime', description: 'When it was done; without it: now.' }),
    compositeProfile: t.string({ description: 'The composite profile, as CREATED tells it.' }),
  }),
})

const RecordActionSuccess = builder
  .objectRef<{
    readonly type: 'RecordActionSuccess'
    readonly revision: Revision
    readonly isRepeat: boolean
    readonly rollout: RolloutRow
  }>('RecordActionSuccess')
  .implement({
    access: 'reporter of all',
    description: 'It is recorded.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
      isRepeat: t.exposeBoolean('isRepeat', { description: 'It was known already.' }),
      rollout: t.expose('rollout', { type: Rollout, description: 'The rollout, with all its actions.' }),
    }),
  })

const RecordActionResult = builder.unionType('RecordActionResult', {
  description: 'What became of recordAction.',
  types: [RecordActionSuccess, InvalidInput, NotFound, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

const AppliedResourceInput = builder.inputType('AppliedResourceInput', {
  description: 'A resource as the orchestrator applied it.',
  fields: (t) => ({
    component: t.string({ required: true, description: 'The component it belongs to: EMCO’s app.' }),
    cluster: t.string({ required: true, description: 'Where it is: `provider+name`.' }),
    group: t.string({ defaultValue: '', description: 'API group; empty for the core group.' }),
    version: t.string({ defaultValue: '', description: 'API version.' }),
    kind: t.string({ required: true, description: 'Kind, such as Deployment.' }),
    name: t.string({ required: true, description: 'Its name.' }),
    namespace: t.string({ description: 'Its namespace.' }),
    sync: t.field({ type: SyncStatusEnum, defaultValue: 'PENDING', description: 'How far applying it is.' }),
    detail: t.field({
      type: 'JSON',
      description: `The object as it was applied, at most ${detailLimit / 1024} KiB; null takes it away, left out it stays.`,
    }),
  }),
})

const ReportResourcesInput = builder.inputType('ReportResourcesInput', {
  description: 'What reportResources takes.',
  fields: (t) => ({
    rollout: t.field({ type: RolloutKey, required: true, description: rolloutDescription }),
    instanceId: t.string({ required: true, description: 'Whose resources: an AppContext that an action has named.' }),
    resources: t.field({
      type: [AppliedResourceInput],
      required: true,
      description: `The resources: at most ${mostItems.toLocaleString('en')}. Those that are not listed stay as they are.`,
    }),
  }),
})

interface ItemVerdict {
  readonly verdict: Verdict | null
  readonly problems: readonly InputProblem[]
}

const ResourceResult = builder.objectRef<ItemVerdict>('ResourceResult').implement({
  access: 'reporter of all',
  description: 'What became of one resource of reportResources.',
  fields: (t) => ({
    verdict: t.expose('verdict', { type: VerdictEnum, nullable: true, description: 'Null: it was refused.' }),
    problems: t.expose('problems', { type: [Problem], description: 'Why it was refused.' }),
  }),
})

const ReportResourcesSuccess = builder
  .objectRef<{
    readonly type: 'ReportResourcesSuccess'
    readonly revision: Revision
    readonly results: readonly ItemVerdict[]
  }>('ReportResourcesSuccess')
  .implement({
    access: 'reporter of all',
    description: 'Each of them has its verdict.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
      results: t.expose('results', { type: [ResourceResult], description: 'The verdicts, in the order of the input.' }),
    }),
  })

const ReportResourcesResult = builder.unionType('ReportResourcesResult', {
  description: 'What became of reportResources.',
  types: [ReportResourcesSuccess, InvalidInput, NotFound, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

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

builder.mutationFields((t) => ({
  recordAction: t.field({
    access: 'reporter of all',
    type: RecordActionResult,
    description: 'Records what a user did with a rollout. A repeat changes nothing; what may not follow is a Conflict.',
    args: { input: t.arg({ type: RecordActionInput, required: true, description: 'The action.' }) },
    resolve: (_, { input }, context) => {
      const { state, at = null, instanceId = null, compositeProfile = null } = input
      const check = checkInput()
      const name = readRollout(check, input.rollout)
      check.name(['instanceId'], instanceId)
      check.name(['compositeProfile'], compositeProfile)
      const act = async () => {
        const timestamp = at === null ? null : new Date(at).toISOString()
        const fact = { state, instanceId, at, timestamp, compositeProfile }
        const { rolloutKey, revision, recorded } = await context.write(recordActions(name, [fact]))
        const rollout = required(await (await context.reader()).rollout(rolloutKey, null), 'rollout')
        return { type: 'RecordActionSuccess' as const, revision, isRepeat: recorded === 0, rollout }
      }
      return attempt(refusals, check.problems, act, { State: 'state', ContextId: 'instanceId' })
    },
  }),
  reportResources: t.field({
    access: 'reporter of all',
    type: ReportResourcesResult,
    description: 'Says how far an orchestrator is with applying resources. A bad one spoils no other.',
    args: { input: t.arg({ type: ReportResourcesInput, required: true, description: 'The resources.' }) },
    resolve: (_, { input: { rollout, instanceId, resources } }, context) => {
      const check = checkInput()
      const name = readRollout(check, rollout)
      check.name(['instanceId'], instanceId)
      check.list(['resources'], resources)
      return attempt(refusals, check.problems, async () => {
        const items = resources.map(readResource)
        const facts = items.flatMap(({ fact }) => (fact ? [fact] : []))
        const { revision, verdicts } = await context.write(reportResources(name, instanceId, facts))
        const verdict = verdicts.values()
        const results = items.map(({ fact, problems }) => ({
          verdict: fact ? (verdict.next().value ?? null) : null,
          problems,
        }))
        return { type: 'ReportResourcesSuccess' as const, revision, results }
      })
    },
  }),
  reportResourceBundleState: t.field({
    access: 'reporter of all',
    type: ReportResourceBundleStateResult,
    description: 'Takes what a cluster shows of an app: the whole present picture. What it does not list is not there.',
    args: { input: t.arg({ type: ReportResourceBundleStateInput, required: true, description: 'The picture.' }) },
    resolve: (_, { input: { rollout, cluster, resourceBundleState } }, context) => {
      const check = checkInput()
      const name = readRollout(check, rollout)
      const target = readCluster(check, ['cluster'], cluster)
      return attempt(refusals, check.problems, async () => {
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
  reportConnectivity: t.field({
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
}))

/** Problems go to `check`; what is returned is only used when there are none. */
function readRollout(check: InputCheck, key: typeof RolloutKey.$inferInput): LifecycleRolloutName {
  const { name, project, compositeApp, compositeAppVersion, provider } = key
  const parts = { name, project, compositeApp, compositeAppVersion, provider }
  for (const [field, value] of Object.entries(parts)) check.name(['rollout', field], value)
  if (provider) {
    for (const field of ['project', 'compositeApp', 'compositeAppVersion'] as const)
      if (parts[field]) check.add(['rollout', field], 'is not part of the name of a cluster’s network intents')
    return clusterIntents(provider, name) as LifecycleRolloutName
  }
  for (const field of ['project', 'compositeApp', 'compositeAppVersion'] as const)
    if (!parts[field]) check.add(['rollout', field], 'is part of the name of a deployment intent group: give it')
  return deploymentIntentGroup(
    project ?? '',
    compositeApp ?? '',
    compositeAppVersion ?? '',
    name,
  ) as LifecycleRolloutName
}

function readCluster(check: InputCheck, path: readonly (string | number)[], text: string): ClusterName {
  check.text(path, text.split('+')[0])
  check.text(path, text.slice(text.indexOf('+') + 1))
  const cluster = parseCluster(text)
  if (!cluster) check.add(path, 'must be provider+name')
  return cluster ?? { kind: 'CLUSTER', provider: '', name: text }
}

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
