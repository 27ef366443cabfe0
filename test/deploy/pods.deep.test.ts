/** The pods of deploy/kubernetes as processes: what Kubernetes would start, ask and end, with the environment, files, probes and signals of the manifests. */
import { createClient } from 'graphql-ws'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { createCertificates } from '../auth/devices/certificates.ts'
import { subscribe } from '../support/clients/http-subscriber.ts'
import { revisionsBetween } from '../support/databases/soundness.ts'
import { postgresStores } from '../support/databases/stores.ts'
import { find, hasKustomize, kustomize } from '../support/systems/kustomize.ts'
import { findNginx, startNginx } from '../support/systems/nginx.ts'
import { canConfine, type Pod, startPod } from '../support/systems/pod.ts'

const API_ADMIN_KEY = 'an-admin-key-for-tests-only'
const headers = { authorization: `Bearer ${API_ADMIN_KEY}` }

async function start(overlay: string, secrets: Readonly<Record<string, string>> = {}): Promise<Pod> {
  const objects = kustomize(overlay)
  const pod = await startPod(objects, find(objects, 'Deployment', 'StatefulSet'), { API_ADMIN_KEY, ...secrets })
  onTestFinished(pod.dispose)
  return pod
}

async function ask(url: string, query: string) {
  const body = JSON.stringify({ query })
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
  const { data, errors } = await answer.json()
  expect(errors).toBeUndefined()
  return data
}

const declare = (name: string): string =>
  `mutation { declareDeployments(input: { deployments: [{ deviceId: "press", deploymentId: "${name}" }] }) { __typename } }`

/** Follows the changes over a WebSocket, from the last cursor after each connection. */
function followOverSocket(url: string, after: number) {
  const revisions: number[] = []
  const closes: number[] = []
  const variables = { after: String(after) }
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: headers,
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, 20)),
    shouldRetry: () => true,
    on: { closed: (event) => closes.push((event as { code: number }).code) },
  })
  const query = 'subscription ($after: Revision) { changes(after: $after) { cursor change { revision } } }'
  client.subscribe<{ changes: { cursor: string; change: { revision: string } | null } }>(
    { query, variables },
    {
      next({ data }) {
        if (!data) return
        variables.after = data.changes.cursor
        if (data.changes.change) revisions.push(Number(data.changes.change.revision))
      },
      error: () => {},
      complete: () => {},
    },
  )
  return { revisions, closes, leave: () => client.dispose() }
}

// Mounts need root, and the programs are those of Linux; .ci/run has both.
describe.skipIf(!canConfine || !hasKustomize())('a pod', () => {
  it('of the embedded database works on a read-only root, as any user, and ends in order', async () => {
    const pod = await start('embedded')
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
      expect([probe, await pod.probe(probe)]).toEqual([probe, 200])
    expect((await fetch(`${pod.url}/graphql?query={revision}`)).status).toBe(401)
    await ask(pod.url, declare('pump'))
    const { deploymentCounts } = await ask(pod.url, '{ deploymentCounts { total } }')
    expect(deploymentCounts).toEqual({ total: 1 })
    // While preStop runs, proxies still send requests here.
    expect(await pod.end(async () => expect(await pod.probe('readinessProbe')).toBe(200))).toBe(0)
    expect(pod.log()).not.toMatch(/"level":"(warn|error)"/)
  })

  describe.skipIf(!findNginx()).each(postgresStores)('of several on $name', (store) => {
    it('sends its subscribers to the other one without a missed change, behind deploy/nginx.conf', async () => {
      const [on, certificates] = [await store.create(), await createCertificates()]
      onTestFinished(() => on.drop())
      onTestFinished(() => certificates.remove())
      const secrets = { DATABASE_URL: `${on.config.url}\n` }
      const [leaving, staying] = await Promise.all([start('postgres', secrets), start('postgres', secrets)])
      const { files } = await (await certificates.authority('the fleet')).issue('localhost', { names: 'IP:127.0.0.1' })
      const nginx = await startNginx({ ports: [leaving.port, staying.port], ...files, clientCa: files.cert })
      onTestFinished(nginx.dispose)
      const url = `http://127.0.0.1:${nginx.port}`
      const begin = Number((await ask(url, '{ revision }')).revision)
      // By turns to one and the other.
      const streams = Array.from({ length: 4 }, () => subscribe(async () => url, begin, headers))
      const sockets = Array.from({ length: 4 }, () => followOverSocket(url, begin))
      onTestFinished(async () => {
        for (const one of [...streams, ...sockets]) await one.leave()
      })
      const followers = [...streams, ...sockets]
      const level = async () => {
        const { revision } = await ask(staying.url, '{ revision }')
        const expected = revisionsBetween(begin, Number(revision))
        for (const { revisions } of followers) await expect.poll(() => revisions).toEqual(expected)
      }
      let [declared, isOver] = [0, false]
      // Each is answered, because nginx asks the other server where one refuses.
      const declaring = (async () => {
        for (; !isOver; declared += 1) await ask(url, declare(`p-${declared}`))
      })()
      // Awaited below, unless the test fails before.
      declaring.catch(() => undefined)
      await expect.poll(() => followers.every(({ revisions }) => revisions.length > 0)).toBe(true)
      const ended = await leaving.end(async () => expect(await leaving.probe('readinessProbe')).toBe(200))
      expect(ended).toBe(0)
      const before = declared
      await expect.poll(() => declared).toBeGreaterThan(before + 5)
      isOver = true
      await declaring
      await level()
      expect(streams.reduce((sum, { cuts }) => sum + cuts, 0)).toBeGreaterThan(0)
      const closes = sockets.flatMap(({ closes: codes }) => codes)
      expect(new Set(closes)).toEqual(new Set([1001]))
      expect(streams.flatMap(({ resets }) => resets)).toEqual([])
      const { audit } = await ask(staying.url, '{ audit { drift { scope } } }')
      expect(audit.drift).toEqual([])
    })
  })
})
