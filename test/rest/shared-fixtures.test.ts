/** Replays what other projects send and expect, which is not ours to publish, where it lies beside the project. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canShow } from '../../src/ingest/dialects/kubernetes/bundle-state.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { startAai } from '../support/systems/aai.ts'
import { type Answer, newContext, newGroup } from '../support/systems/emco.ts'
import { startReceiver } from '../support/systems/receiver.ts'

const folder = new URL('../../../shared/fixtures/', import.meta.url)
const isPresent = existsSync(folder)
const text = (file: string): string => readFileSync(new URL(file, folder), 'utf8')
const json = (file: string): Answer => JSON.parse(text(file))
const own = (file: string): Answer => JSON.parse(readFileSync(new URL(`../fixtures/${file}`, import.meta.url), 'utf8'))

// Without the folder there is nothing to replay: the suites beside this one cover the same with payloads of our own.
describe.skipIf(!isPresent)('what the field sends and expects', () => {
  let server: RunningApp
  let aai: Awaited<ReturnType<typeof startAai>>
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  beforeAll(async () => {
    ;[aai, receiver] = [await startAai(), await startReceiver()]
    const env = { SINK_ALLOW: '127.0.0.1', AAI_URL: aai.url, AAI_USER: 'u', AAI_PASSWORD: 'p' }
    server = await startApp({ env })
  })
  afterAll(async () => {
    await server.stop()
    await Promise.all([aai.close(), receiver.close()])
  })

  it('has the design’s examples as our tests have them', () => {
    // Our own examples stand beside them.
    const theirs = new Set(readdirSync(new URL('emco/seed-examples/', folder)))
    const shared = readdirSync(new URL('../fixtures/emco/', import.meta.url)).filter((file) => theirs.has(file))
    expect(shared.length).toBeGreaterThanOrEqual(6)
    for (const file of shared) expect(own(`emco/${file}`)).toEqual(json(`emco/seed-examples/${file}`))
  })

  it('shows what EMCO’s monitor found', async () => {
    const status = json('emco/packetgen-resourcebundlestate.json')
    const lists = Object.entries<Answer>(status).filter(
      ([key, value]) => key.endsWith('Statuses') && Array.isArray(value),
    )
    const objects = lists.flatMap(([, list]) => list)
    expect(objects.length).toBeGreaterThan(0)
    const emco = newGroup(server)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    const shown = await emco.show(context, status, { app: 'packetgen' })
    expect(shown).toMatchObject({ verdict: 'APPLIED' })
    expect(shown).not.toHaveProperty('errors')
    const answer = await emco.status('?type=cluster&output=detail')
    expect(answer['cluster-status']).toEqual({ Present: objects.length })
    const resources: Answer[] = answer.apps[0].clusters[0].resources
    expect(resources.map(({ name }) => name).sort()).toEqual(
      objects.map(({ metadata }: Answer) => metadata.name).sort(),
    )
    const [first] = objects
    const { detail } = resources.find(({ name }) => name === first.metadata.name)
    const { managedFields, ...metadata } = first.metadata
    expect(detail).toEqual({ ...first, metadata })
  })

  it('knows every list that the custom resource may have', () => {
    const crd = text('emco/k8splugin_v1alpha1_resourcebundlestate_crd.yaml')
    const kinds: Record<string, [string, string]> = {
      podStatuses: ['', 'Pod'],
      serviceStatuses: ['', 'Service'],
      configMapStatuses: ['', 'ConfigMap'],
      secretStatuses: ['', 'Secret'],
      deploymentStatuses: ['apps', 'Deployment'],
      daemonSetStatuses: ['apps', 'DaemonSet'],
      statefulSetStatuses: ['apps', 'StatefulSet'],
      jobStatuses: ['batch', 'Job'],
      ingressStatuses: ['networking.k8s.io', 'Ingress'],
      csrStatuses: ['certificates.k8s.io', 'CertificateSigningRequest'],
    }
    const names = new Set(crd.match(/\b\w+Statuses(?=:)/g))
    names.delete('resourceStatuses')
    // Those of a container are a pod's own.
    for (const name of [...names].filter((one) => /container/i.test(one))) names.delete(name)
    for (const name of names) expect([name, canShow(...(kinds[name] ?? ['', '']))]).toEqual([name, true])
  })

  it('answers so-cnf-adapter with all that it reads', async () => {
    const send = (method: string, path: string, body?: object) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
    const { id } = json('k8splugin/getInstanceResponse.json')
    const instance = { ...own('k8splugin/instance.json'), id }
    expect((await send('PUT', `/v1/instance/${id}`, instance)).status).toBe(201)
    const get = async (path: string): Promise<Answer> => (await send('GET', path)).json()
    expect(Object.keys(await get(`/v1/instance/${id}`))).toEqual(
      expect.arrayContaining(Object.keys(json('k8splugin/getInstanceResponse.json'))),
    )
    for (const file of ['allInstancesResponse.json', 'existingInstanceListResponse.json']) {
      const [listed] = await get('/v1/instance')
      const { request, ...flat } = listed
      expect(Object.keys({ ...flat, ...request })).toEqual(
        expect.arrayContaining(Object.keys(json(`k8splugin/${file}`)[0])),
      )
    }
    expect(Object.keys(await get(`/v1/instance/${id}/status`))).toEqual(
      expect.arrayContaining(Object.keys(json('k8splugin/getInstanceStatusResponse.json'))),
    )
    const subscription = { ...json('k8splugin/subscriptionResponse.json'), 'callback-url': `${receiver.url}/told` }
    const made = await send('POST', `/v1/instance/${id}/status/subscription`, subscription)
    expect([made.status, await made.json()]).toEqual([201, expect.objectContaining(subscription)])
  })

  it('writes the k8s-resource that A&AI’s schema has, in transactions as it takes them', async () => {
    const { id } = json('k8splugin/getInstanceResponse.json')
    const send = (path: string, body: object, method = 'POST') =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
    const status = { metadata: { name: 'x', resourceVersion: '7', labels: { app: 'x' } } }
    await send(`/v1/instance/${id}/status`, { resourcesStatus: [{ name: 'x', GVK, status }] }, 'PUT')
    const belonging = {
      instanceId: id,
      cloudRegion: 'r',
      cloudOwner: 'o',
      tenantId: 't',
      callbackUrl: `${receiver.url}/done`,
    }
    expect((await send('/api/cnf-adapter/v1/aai-update/', belonging)).status).toBe(202)
    await receiver.until((all) =>
      all.some(({ path, body }) => path === '/done' && body.completionStatus === 'COMPLETED'),
    )
    const [node] = [...aai.nodes.values()]
    const sample = json('aai/k8sResource.json')
    expect(Object.keys(node ?? {}).sort()).toEqual(Object.keys(sample).sort())
    for (const [key, value] of Object.entries(sample)) expect([key, typeof node?.[key]]).toEqual([key, typeof value])
    const [operation] = json('aai/single-transaction-sample.json').operations
    expect(Object.keys(aai.operations[0] ?? {}).sort()).toEqual(Object.keys(operation).sort())
  })
})
