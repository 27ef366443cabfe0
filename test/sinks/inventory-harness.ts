/** A server with an A&AI inventory, and an orchestrator that reports instances and announces them. */
import { afterAll, beforeAll } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { type AppOptions, type RunningApp, startApp } from '../support/servers/app.ts'
import { type Aai, startAai } from '../support/systems/aai.ts'
import { type Receiver, startReceiver } from '../support/systems/receiver.ts'

export const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
export const deployment = (name: string, resourceVersion = '1', ready = 1) => ({
  name,
  GVK,
  status: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'ns', resourceVersion, labels: { app: name } },
    spec: { replicas: 1 },
    status: { replicas: 1, updatedReplicas: 1, readyReplicas: ready, availableReplicas: ready },
  },
})
export const place = { cloudOwner: 'owner', cloudRegion: 'region', tenantId: 'tenant' }
export const vnf = '/network/generic-vnfs/generic-vnf/vnf-1'

/** Starts them for the tests of a block. */
export function useInventory(store: AppOptions['store']) {
  let server: RunningApp
  let aai: Aai
  let receiver: Receiver
  beforeAll(async () => {
    aai = await startAai()
    receiver = await startReceiver()
    server = await startApp({
      store,
      timeouts: { ...defaultTimeouts, retry: 50 },
      env: {
        SINK_ALLOW: '127.0.0.1',
        AAI_URL: aai.url,
        AAI_USER: 'user',
        AAI_PASSWORD: 'password',
        PUBLIC_URL: 'https://rollcall.example',
      },
    })
  })
  afterAll(async () => {
    await server.stop()
    await aai.close()
    await receiver.close()
  })

  const send = async (method: string, path: string, body: unknown): Promise<number> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await response.arrayBuffer()
    return response.status
  }
  const tell = (id: string, ...names: string[]) =>
    send('PUT', `/v1/instance/${id}`, {
      request: { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': id, 'cloud-region': 'region' },
      namespace: 'ns',
      resources: names.map((Name) => ({ GVK, Name })),
    })
  const show = (id: string, ...objects: object[]) =>
    send('PUT', `/v1/instance/${id}/status`, { resourcesStatus: objects })
  const belong = (id: string, action: 'update' | 'delete', more: object = {}) =>
    send('POST', `/api/cnf-adapter/v1/aai-${action}/`, {
      instanceId: id,
      ...place,
      callbackUrl: `${receiver.url}/${id}`,
      ...more,
    })
  const resourcesOf = (id: string, shown = 'data-source-version') =>
    [...aai.nodes]
      .filter(
        ([uri, node]) =>
          uri.includes('/k8s-resource/') && (node.labels as string[])[0] === `k8splugin.io/rb-instance-id=${id}`,
      )
      .map(([, node]) => `${node.name} ${node[shown]}`)
      .toSorted()
  const callbacks = (id: string) =>
    receiver.received.filter(({ path }) => path === `/${id}`).map(({ body }) => body.completionStatus)

  return {
    get server() {
      return server
    },
    get aai() {
      return aai
    },
    get receiver() {
      return receiver
    },
    tell,
    show,
    belong,
    resourcesOf,
    callbacks,
  }
}
