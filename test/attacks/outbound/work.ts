/** What has the server ask other systems: reports, objects of clusters, announcements, sign-ins, tokens of devices, and messages to receivers; and a Git client. */
import { documentOf } from '../../support/clients/desired.ts'
import { newContext } from '../../support/systems/emco.ts'
import { codeOf } from '../attacker/hostile-issuer.ts'
import type { Random } from '../attacker/random.ts'
import { adminKey, type Plant } from './plant.ts'

interface Work {
  /** One round of everything. */
  round(): Promise<void>
  /** Sinks that have not succeeded since their last failure, by name. */
  failing(): Promise<readonly string[]>
  /** Has paused and failing sinks try again now. */
  retry(): Promise<void>
  /** Of the clients of the identity service: those that were admitted. */
  readonly admitted: ReadonlySet<string>
}

const register = `mutation ($input: RegisterDevicesInput!) {
  registerDevices(input: $input) { ... on RegisterDevicesSuccess { results { token } } }
}`
const declaration = `mutation ($input: DeclareDeploymentsInput!) {
  declareDeployments(input: $input) { __typename ... on UserError { message } }
}`
const sinks = '{ sinks { id name kind failures lastError } }'
const patience = 20_000

export async function startWork(
  url: string,
  { fronts, kubernetes, identity, git }: Plant,
  random: Random,
): Promise<Work> {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  // biome-ignore lint/suspicious/noExplicitAny: what it asks for, it knows.
  async function ask(query: string, variables = {}): Promise<any> {
    const answer = await send('POST', '/graphql', { query, variables })
    const result = await answer.json()
    // Without it, a mistake in a document would look like a server that does nothing.
    if (result.errors?.[0]?.extensions?.code?.startsWith('GRAPHQL')) throw new Error(JSON.stringify(result.errors[0]))
    return result
  }
  function send(method: string, path: string, body: unknown, more: Readonly<Record<string, string>> = headers) {
    const signal = AbortSignal.timeout(patience)
    return fetch(`${url}${path}`, { method, headers: { ...headers, ...more }, body: JSON.stringify(body), signal })
  }
  const quiet = async (response: Promise<Response>): Promise<void> =>
    response
      .then((one) => one.arrayBuffer())
      .then(
        () => undefined,
        () => undefined,
      )

  const devices = Array.from({ length: 10 }, (_, index) => ({ deviceId: `edge-${index}` }))
  const { data } = await ask(register, { input: { devices } })
  const tokens: readonly string[] = data.registerDevices.results.map(({ token }: { token: string }) => token)
  const { hostname, port } = new URL(url)
  git?.lead(`http://x:${tokens[0]}@${hostname}:${port}/git/edge-0.git`)
  const create = (kind: string, input: object) =>
    ask(`mutation ($i: Create${kind}Input!) { create${kind}(input: $i) { __typename ... on UserError { message } } }`, {
      i: input,
    })
  await create('Webhook', { name: 'webhook', url: `${fronts.webhook?.url}/hook` })
  await create('Webhook', { name: 'secure', url: `${fronts['secure webhook']?.url}/hook` })
  await create('Alertmanager', { name: 'alertmanager', url: fronts.alertmanager?.url })
  // biome-ignore lint/suspicious/noExplicitAny: what it asks for, it knows.
  const list = async (): Promise<any[]> => (await ask(sinks)).data.sinks

  const instance = 'instance-1'
  const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
  await quiet(
    send('PUT', `/v1/instance/${instance}`, {
      request: { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': instance, 'cloud-region': 'region' },
      ...{ namespace: 'ns', resources: [{ GVK, Name: 'a' }] },
    }),
  )
  const context = newContext()
  let count = 0

  async function report(): Promise<void> {
    const index = random.below(tokens.length)
    const state = random.choose(['pending', 'installing', 'installed', 'failed'])
    const body = { deploymentId: `web-${index}`, status: { state }, components: [{ name: 'a', state }] }
    await quiet(
      send('POST', `/device/edge-${index}/deployment/web-${index}/status`, body, {
        authorization: `Bearer ${tokens[index]}`,
      }),
    )
  }

  /** The key of this token is not known, so the keys are asked for. */
  async function presentToken(): Promise<void> {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const token = `${part({ alg: 'ES256', kid: String(count) })}.${part({ iss: 'i', aud: 'a', exp: 4e9, sub: 'edge-1' })}.eA`
    await quiet(send('POST', '/device/edge-1/deployment/web-1/status', {}, { authorization: `Bearer ${token}` }))
  }

  const admitted = new Set<string>()
  /** Whose authority the identity service names, and whose it does not. */
  async function presentCertificates(): Promise<void> {
    const body = { deploymentId: 'by-certificate', status: { state: 'installed' }, components: [] }
    const path = '/device/edge-2/deployment/by-certificate/status'
    for (const name of ['known', 'stranger'] as const) {
      const answer = await send('POST', path, body, { authorization: '', ...identity[name] })
      await quiet(Promise.resolve(answer))
      if (answer.ok) admitted.add(name)
    }
  }

  async function signIn(): Promise<void> {
    const from = { 'x-forwarded-for': `198.18.0.${random.below(256)}` }
    const signal = AbortSignal.timeout(patience)
    const begun = await fetch(`${url}/session/oidc/login`, { headers: from, redirect: 'manual', signal })
    const location = URL.parse(begun.headers.get('location') ?? '')
    const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    if (location === null) return
    const nonce = location.searchParams.get('nonce')
    const code = codeOf({ answer: 'valid', nonce, subject: `person-${count % 20}`, group: 'viewers' })
    const query = new URLSearchParams({ code, state: location.searchParams.get('state') ?? '' })
    const ended = fetch(`${url}/session/oidc/callback?${query}`, {
      ...{ headers: { ...from, cookie }, redirect: 'manual', signal },
    })
    await quiet(ended)
  }

  async function changeInstance(): Promise<void> {
    const metadata = { name: 'a', namespace: 'ns', resourceVersion: String(count), labels: { app: 'a' } }
    const status = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 1 },
      status: { replicas: 1 },
    }
    await quiet(send('PUT', `/v1/instance/${instance}/status`, { resourcesStatus: [{ name: 'a', GVK, status }] }))
    const place = { cloudOwner: 'owner', cloudRegion: 'region', tenantId: 'tenant', genericVnfId: 'vnf-1' }
    const body = { instanceId: instance, ...place, callbackUrl: `${fronts.callback?.url}/done` }
    await quiet(send('POST', '/api/cnf-adapter/v1/aai-update/', body))
  }

  /** The repository grows. */
  async function declare(): Promise<void> {
    const deployments = [{ deviceId: 'edge-0', deploymentId: 'web', document: documentOf('web', `1.0.${count}`) }]
    await ask(declaration, { input: { deployments } }).catch(() => undefined)
  }

  async function testReceivers(): Promise<void> {
    const test = 'mutation ($i: TestSinkInput!) { testSink(input: $i) { __typename } }'
    for (const { id, kind } of await list())
      if (['WEBHOOK', 'ALERTMANAGER'].includes(kind)) await ask(test, { i: { id } }).catch(() => undefined)
  }

  return {
    admitted,
    async round() {
      count += 1
      kubernetes.put(`web-${context}`, `${context}-web`, { ready: false, resourceCount: count })
      const parts = [report(), report(), presentToken(), signIn(), changeInstance(), presentCertificates()]
      if (git) parts.push(git.fetch())
      if (count % 10 === 0) parts.push(testReceivers(), declare())
      await Promise.allSettled(parts)
    },
    failing: async () => [
      ...(await list()).flatMap(({ name, failures, lastError }) =>
        failures > 0 ? [`${name}: ${failures} failures, ${lastError}`] : [],
      ),
      ...[git?.failure() ?? []].flat(),
    ],
    async retry() {
      for (const { id } of await list())
        for (const name of ['pause', 'resume']) {
          const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}SinkInput`
          await ask(`mutation ($i: ${type}!) { ${name}Sink(input: $i) { __typename } }`, { i: { id } })
        }
    },
  }
}
