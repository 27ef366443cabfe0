/** The design's answers, word for word, after the same facts have been fed: nothing here stores an answer. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

// biome-ignore lint/suspicious/noExplicitAny: the design's own shapes.
type Answer = any
const golden = (name: string): Answer =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../fixtures/emco', `${name}.json`), 'utf8'))

const group = '/v2/projects/testvfw/composite-apps/compositevfw/v1/deployment-intent-groups/vfw_deployment_intent_group'
const apps = {
  packetgen: ['fw0-packetgen', 'packetgen-service'],
  firewall: ['fw0-firewall'],
  sink: ['fw0-sink', 'sink-configmap', 'sink-service'],
}
const kinds: Record<string, object> = {
  'packetgen-service': { Group: '', Version: 'v1', Kind: 'Service' },
  'sink-service': { Group: '', Version: 'v1', Kind: 'Service' },
  'sink-configmap': { Group: '', Version: 'v1', Kind: 'ConfigMap' },
}
const deployment = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
const edge = (n: number): string => `vfw-cluster-provider+edge0${n}`

const resources = (clusters: readonly string[], status: string) =>
  Object.entries(apps).flatMap(([app, names]) =>
    clusters.flatMap((cluster) =>
      names.map((name) => ({ app, cluster, GVK: kinds[name] ?? deployment, name, 'rsync-status': status })),
    ),
  )

describe.each(stores)("the design's status queries on $name", (store) => {
  let server: RunningApp
  afterEach(() => server.stop())

  const send = async (method: string, path: string, body: unknown): Promise<Answer> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = await response.json()
    expect(response.ok, JSON.stringify(answer)).toBe(true)
    return answer
  }
  const get = async (path: string): Promise<Answer> => (await fetch(`${server.url}${path}`)).json()
  const act = (base: string, actions: readonly object[], profile?: string) =>
    send('POST', `${base}/actions`, {
      Actions: actions.map((action, index) =>
        index === 0 && profile ? { ...action, 'composite-profile-name': profile } : action,
      ),
    })

  it('of a composite application that was terminated and instantiated again', async () => {
    server = await startApp({ store })
    const { state, 'composite-profile-name': profile } = golden('05')
    const actions = state.Actions
    const [first, second] = [actions[2].ContextId, actions[5].ContextId]
    const both = [edge(1), edge(2)]
    await act(group, actions.slice(0, 3), profile)
    await send('POST', `${group}/instances/${first}/resources`, { resources: resources(both, 'Applied') })
    await act(group, actions.slice(0, 4))
    await send('POST', `${group}/instances/${first}/resources`, { resources: resources(both, 'Deleted') })
    await act(group, actions)
    await send('POST', `${group}/instances/${second}/resources`, { resources: resources(both, 'Applied') })

    expect(await get(`${group}/status`)).toEqual(golden('default'))
    expect(await get(`${group}/status?output=all`)).toEqual(golden('default'))
    expect(await get(`${group}/status?output=summary`)).toEqual(golden('05'))
    const only = '&resource=fw0-packetgen&resource=sink-configmap'
    expect(await get(`${group}/status?output=all&type=rsync${only}&instance=${first}`)).toEqual(golden('07'))

    const shown = golden('06').apps[0].clusters.map((cluster: Answer) => [cluster.cluster, cluster.resources[0].detail])
    for (const [cluster, configMap] of shown)
      await send('PUT', `${group}/resource-bundle-states/vfw-cluster-provider%2B${cluster}`, {
        apiVersion: 'k8splugin.io/v1alpha1',
        kind: 'ResourceBundleState',
        metadata: { labels: { 'emco/deployment-id': `${second}-sink` }, name: `sink-${second}`, resourceVersion: '7' },
        status: { ready: false, resourceCount: 0, configMapStatuses: [configMap] },
      })
    expect(await get(`${group}/status?output=detail&type=cluster&app=sink&resource=sink-configmap`)).toEqual(
      golden('06'),
    )
  })

  it('of the list of its instances, the oldest first', async () => {
    server = await startApp({ store })
    const list = golden('04')
    const base = `/v2/projects/${list.project}/composite-apps/${list['composite-app-name']}/${list['composite-app-version']}/deployment-intent-groups/${list.name}`
    const [created, approved] = ['Created', 'Approved'].map((State) => ({ State }))
    for (const action of [created, approved]) await send('POST', `${base}/actions`, action)
    for (const ContextId of list.instances) {
      await send('POST', `${base}/actions`, { State: 'Instantiated', ContextId })
      await send('POST', `${base}/actions`, { State: 'Terminated', ContextId })
    }
    expect(await get(`${base}/status?instance`)).toEqual(list)
  })

  it('of one cluster of it, and of that cluster’s own network intents', async () => {
    server = await startApp({ store })
    const { state, 'composite-profile-name': profile } = golden('08')
    const context = state.Actions[2].ContextId
    await act(group, state.Actions, profile)
    await send('POST', `${group}/instances/${context}/resources`, {
      resources: resources([edge(1), edge(2)], 'Applied'),
    })
    expect(await get(`${group}/status?cluster=vfw-cluster-provider%2Bedge02`)).toEqual(golden('08'))

    const cluster = '/v2/cluster-providers/vfw-cluster-provider/clusters/edge01'
    const own = golden('09')
    await act(cluster, own.state.Actions)
    const networks = own.apps[0].clusters[0].resources
    await send('POST', `${cluster}/instances/${own.state.Actions[1].ContextId}/resources`, { resources: networks })
    expect(await get(`${cluster}/status`)).toEqual(own)
  })
})
