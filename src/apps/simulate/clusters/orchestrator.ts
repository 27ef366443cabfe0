/** An orchestrator and its clusters' monitors, on the routes of the EMCO dialect. Every fact may be sent again without effect. */
import type { Api } from '../../cli/api.ts'
import type { FactRecord, Verdict } from '../records.ts'
import { type RetryOptions, sendWithRetry } from '../requests.ts'
import { createSchedule, type Stage } from '../stage.ts'
import { bundleOf } from './objects.ts'
import { type SimulatedGroup, splitCluster } from './plan.ts'
import { type AppliedItem, createClusterNetwork, type Fact, nameOf, playConnectivity, playGroup } from './script.ts'

interface OrchestratorOptions extends RetryOptions {
  readonly url: string
  readonly token: string | undefined
  readonly record: FactRecord
}

interface Orchestrator {
  /** Sends the fact, and records the server's answer in the record. */
  tell(fact: Fact): Promise<void>
}

interface Request {
  readonly method: 'POST' | 'PUT'
  readonly path: string
  readonly body: object
}

interface WireAction {
  readonly State: string
  readonly ContextId: string
  readonly TimeStamp: string
  readonly 'composite-profile-name': string
}

interface Answer {
  readonly verdict?: Verdict
  readonly results?: readonly { readonly verdict: Verdict | 'REFUSED' }[]
  readonly error?: string
  readonly detail?: string
  /** Parts that could not be read. */
  readonly errors?: readonly unknown[]
}

export function createOrchestrator({ url, token, record, ...retryOptions }: OrchestratorOptions): Orchestrator {
  /** All actions so far: EMCO always sends the whole list. */
  const actions = new Map<SimulatedGroup, readonly WireAction[]>()

  function requestOf(fact: Fact): Request {
    if (fact.of === 'connectivity') {
      const { provider, name } = splitCluster(fact.cluster)
      const path = `/v2/cluster-providers/${provider}/clusters/${name}/connectivity`
      return { method: 'PUT', path, body: { connectivity: fact.isOnline ? 'Available' : 'Retrying' } }
    }
    const base = pathOf(fact.group)
    switch (fact.of) {
      case 'action': {
        const done: WireAction = {
          State: fact.state,
          ContextId: fact.instanceId ?? '',
          TimeStamp: new Date().toISOString(),
          'composite-profile-name': 'two-cells',
        }
        const Actions = [...(actions.get(fact.group) ?? []), done]
        actions.set(fact.group, Actions)
        return { method: 'POST', path: `${base}/actions`, body: { Actions } }
      }
      case 'resources': {
        const path = `${base}/instances/${fact.instanceId}/resources`
        return { method: 'POST', path, body: { resources: fact.items.map(itemBody) } }
      }
      case 'objects': {
        const path = `${base}/resource-bundle-states/${encodeURIComponent(fact.list.cluster)}`
        return { method: 'PUT', path, body: bundleOf(fact.list) }
      }
    }
  }

  return {
    async tell(fact) {
      const { method, path, body } = requestOf(fact)
      const answered = await sendWithRetry(
        { method, url: `${url}${path}`, body: JSON.stringify(body), token },
        retryOptions,
      )
      if (!answered) return record.unanswered(fact)
      const { response, isRepeat } = answered
      const answer = (await response.json().catch(() => ({}))) as Answer
      if (!response.ok)
        return record.refused(fact, `HTTP ${response.status} ${answer.error ?? answer.detail ?? ''}`.trim())
      if (answer.errors) return record.refused(fact, JSON.stringify(answer.errors))
      record.acknowledged(fact, { verdicts: verdictsOf(fact, response.status, answer), isRepeat })
    },
  }
}

function verdictsOf(fact: Fact, status: number, { verdict, results }: Answer): readonly (Verdict | 'REFUSED')[] {
  if (fact.of === 'action') return [status === 201 ? 'APPLIED' : 'UNCHANGED']
  if (fact.of === 'resources') return results?.map((result) => result.verdict) ?? []
  return verdict ? [verdict] : []
}

function pathOf({ project, compositeApp, compositeAppVersion, name }: SimulatedGroup): string {
  const names = [project, 'composite-apps', compositeApp, compositeAppVersion, 'deployment-intent-groups', name]
  return `/v2/projects/${names.map(encodeURIComponent).join('/')}`
}

/** As rsync reports it: without a namespace. */
function itemBody({ app, cluster, sync, resource: { group, kind, name } }: AppliedItem): object {
  const status = sync.charAt(0) + sync.slice(1).toLowerCase()
  return { app, cluster, GVK: { Group: group, Version: 'v1', Kind: kind }, name, 'rsync-status': status }
}

/** Creates the groups and returns their rollouts. */
export async function createGroups(
  api: Api,
  orchestrator: Orchestrator,
  groups: readonly SimulatedGroup[],
): Promise<Map<SimulatedGroup, string>> {
  const ids = new Map<SimulatedGroup, string>()
  for (const group of groups) {
    await orchestrator.tell({ at: 0, of: 'action', group, state: 'Created', instanceId: null })
    const { project, compositeApp, compositeAppVersion, name } = group
    const { rollout } = await api.ask<{ rollout: { id: string } | null }>(
      'query Find($key: RolloutKey!) { rollout(key: $key) { id } }',
      { key: { project, compositeApp, compositeAppVersion, name } },
    )
    if (rollout) ids.set(group, rollout.id)
  }
  return ids
}

export async function playClusters(
  stage: Stage,
  groups: readonly SimulatedGroup[],
  seed: number,
  orchestrator: Orchestrator,
): Promise<void> {
  const network = createClusterNetwork(seed)
  const clusters = new Set(groups.flatMap((group) => group.clusters))
  const plans: Iterator<Fact>[] = [
    ...groups.map((group) => playGroup(group, seed, network)),
    ...[...clusters].map((cluster) => playConnectivity(cluster, seed)),
  ]
  await stage.play(createSchedule(plans), (due) => {
    for (const fact of due) stage.enqueue(nameOf(fact), () => orchestrator.tell(fact))
  })
}
