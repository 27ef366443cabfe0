/** EMCO's side, over HTTP: what its users do, what it applied, what its clusters show, and its status query. */
import type { RunningApp } from '../servers/app.ts'

// biome-ignore lint/suspicious/noExplicitAny: EMCO's own shapes.
export type Answer = any

interface Reply {
  readonly status: number
  readonly body: Answer
}

export interface Applied {
  readonly app?: string
  readonly cluster?: string
  readonly kind?: string
  readonly name: string
  readonly namespace?: string
  readonly status?: string
  readonly detail?: object
}

export interface Emco {
  /** Of a deployment intent group: where its routes begin. */
  readonly base: string
  /** As GraphQL's RolloutKey. */
  readonly key: object
  call(method: string, path: string, body?: unknown): Promise<Reply>
  /** `State` or `State context`, one after the other; fails unless all are taken. */
  act(...actions: readonly string[]): Promise<void>
  apply(context: string, resources: readonly Applied[]): Promise<void>
  /** What a cluster shows of an app: the ResourceBundleState's status. */
  show(context: string, status: object, more?: { readonly app?: string; readonly cluster?: string }): Promise<Answer>
  status(query?: string): Promise<Answer>
}

let count = 0

export const groups: Record<string, string> = { Deployment: 'apps', StatefulSet: 'apps', Network: 'k8s.plugin' }

/** A deployment intent group that no other test has. */
export function newGroup(server: Pick<RunningApp, 'url'>): Emco {
  count += 1
  return groupOf(server, { project: 'p', compositeApp: 'ca', compositeAppVersion: 'v1', name: `dig${count}` })
}

interface GroupKey {
  readonly project: string
  readonly compositeApp: string
  readonly compositeAppVersion: string
  readonly name: string
}

export function groupOf(server: Pick<RunningApp, 'url'>, key: GroupKey): Emco {
  const { project, compositeApp, compositeAppVersion, name } = key
  const base = `/v2/projects/${project}/composite-apps/${compositeApp}/${compositeAppVersion}/deployment-intent-groups/${name}`
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }
  const ok = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const reply = await call(method, path, body)
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  return {
    base,
    key,
    call,
    async act(...actions) {
      for (const action of actions) {
        const [State, ContextId] = action.split(' ')
        await ok('POST', `${base}/actions`, { State, ContextId })
      }
    },
    async apply(context, resources) {
      const { results } = await ok('POST', `${base}/instances/${context}/resources`, {
        resources: resources.map(
          ({ app = 'sink', cluster = 'p+edge01', kind = 'Deployment', status = 'Applied', ...more }) => ({
            app,
            cluster,
            GVK: { Group: groups[kind] ?? '', Version: 'v1', Kind: kind },
            'rsync-status': status,
            ...more,
          }),
        ),
      })
      const refused = results.filter(({ verdict }: Answer) => verdict === 'REFUSED')
      if (refused.length > 0) throw new Error(JSON.stringify(refused))
    },
    show: (context, status, { app = 'sink', cluster = 'p+edge01' } = {}) =>
      ok('PUT', `${base}/resource-bundle-states/${encodeURIComponent(cluster)}`, bundle(`${context}-${app}`, status)),
    status: (query = '') => ok('GET', `${base}/status${query}`),
  }
}

let version = 0

export function bundle(label: string, status: object): object {
  version += 1
  return {
    apiVersion: 'k8splugin.io/v1alpha1',
    kind: 'ResourceBundleState',
    metadata: { labels: { 'emco/deployment-id': label }, uid: 'one', resourceVersion: String(version) },
    status,
  }
}

/** A Deployment, as a cluster has it. */
export function shownDeployment(name: string, isReady = true): object {
  const ready = isReady ? 1 : 0
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default', generation: 1 },
    spec: { replicas: 1 },
    status: {
      observedGeneration: 1,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: ready,
      availableReplicas: ready,
    },
  }
}

/** An AppContext that no other test has. */
export function newContext(): string {
  count += 1
  return `77${String(count).padStart(6, '0')}`
}
