/** All systems that a server asks, good ones, each behind a front that may be hostile; and the variables of a server that asks them. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAai } from '../../support/systems/aai.ts'
import { startCollector } from '../../support/systems/collector.ts'
import { type Kubernetes, startKubernetes } from '../../support/systems/kubernetes.ts'
import { findMosquitto, startMosquitto } from '../../support/systems/mosquitto.ts'
import { startHostileIssuer } from '../attacker/hostile-issuer.ts'
import type { Random } from '../attacker/random.ts'
import { startBrokerFront } from './broker-front.ts'
import { createShownCertificates } from './certificates.ts'
import { type Front, startFront } from './front.ts'
import { createGitClient, type GitClient } from './git-client.ts'
import { type Identity, startIdentity } from './identity.ts'

const names = [
  'aai',
  'kubernetes',
  'issuer',
  'keys',
  'webhook',
  'callback',
  'alertmanager',
  'collector',
  'bucket',
] as const
/** These are asked by https, so they may show a bad certificate. */
const secureNames = ['secure cluster', 'secure webhook', 'identity service'] as const

export const adminKey = 'an-admin-key-of-the-attack-only'

export interface Plant {
  readonly fronts: Readonly<Record<string, Front>>
  readonly kubernetes: Kubernetes
  readonly identity: Identity
  /** Null: there is no Git on the machine. */
  readonly git: GitClient | null
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** A bucket without objects, a receiver, an Alertmanager: nothing of what they answer matters. */
async function startPlain(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const isBucket = request.method === 'GET'
    request.resume()
    response.writeHead(isBucket ? 404 : 200).end(isBucket ? '<Error><Code>NoSuchKey</Code></Error>' : '{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function hasGit(): boolean {
  try {
    execFileSync('git', ['--version'])
    return true
  } catch {
    return false
  }
}

export async function startPlant(random: Random): Promise<Plant> {
  const ends: (() => Promise<unknown>)[] = []
  const keep = <T>(started: T, end: (started: T) => Promise<unknown>): T => {
    ends.push(() => end(started))
    return started
  }
  const fronts: Record<string, Front> = {}
  for (const name of names) fronts[name] = keep(await startFront({ random }), (front) => front.stop())
  const urlOf = (name: string): string => fronts[name]?.url ?? ''

  const certificates = keep(await createShownCertificates(), ({ remove }) => remove())
  for (const name of secureNames)
    fronts[name] = keep(await startFront({ random, certificates }), (front) => front.stop())

  const plain = keep(await startPlain(), ({ stop }) => stop())
  const aai = keep(await startAai(), ({ close }) => close())
  const collector = keep(await startCollector(), ({ close }) => close())
  const issuer = keep(await startHostileIssuer(urlOf('issuer')), ({ stop }) => stop())
  const identity = keep(await startIdentity('edge-2'), ({ stop }) => stop())
  const kubernetes = await startKubernetes((end) => void ends.push(end))
  const upstreams: Readonly<Record<string, string>> = {
    aai: aai.url,
    collector: collector.url,
    issuer: issuer.url,
    keys: issuer.url,
    'identity service': identity.url,
  }
  for (const [name, front] of Object.entries(fronts)) front.lead(upstreams[name] ?? plain.url)

  const folder = keep(mkdtempSync(join(tmpdir(), 'rollcall-outbound-')), async (path) =>
    rmSync(path, { recursive: true }),
  )
  // biome-ignore lint/suspicious/noExplicitAny: a kubeconfig.
  const config: any = JSON.parse(readFileSync(kubernetes.kubeconfig, 'utf8'))
  for (const name of ['kubernetes', 'secure cluster']) fronts[name]?.lead(config.clusters[0].cluster.server)
  config.clusters[0].cluster.server = urlOf('kubernetes')
  const authority = Buffer.from(certificates.ca.text).toString('base64')
  config.clusters.push({
    name: 'secure',
    cluster: { server: urlOf('secure cluster'), 'certificate-authority-data': authority },
  })
  config.contexts.push({ name: 'secure', context: { cluster: 'secure', user: 'watcher' } })
  const kubeconfig = join(folder, 'config')
  writeFileSync(kubeconfig, JSON.stringify(config))

  const broker = findMosquitto() === null ? null : keep(await startMosquitto(), ({ dispose }) => dispose())
  if (broker) fronts.broker = keep(await startBrokerFront(random, broker.url), (front) => front.stop())
  const git = hasGit() ? keep(createGitClient(random), (client) => client.stop()) : null
  if (git) fronts['git client'] = git
  return {
    ...{ fronts, kubernetes, identity, git },
    env: {
      ...issuer.env,
      ...{ API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'token,mtls' },
      ...{ ...identity.env, IDENTITY_SERVICE: urlOf('identity service'), IDENTITY_SERVICE_CA: certificates.ca.file },
      IDENTITY_DIRECTORY: join(folder, 'identity'),
      ...{ DEVICE_JWT_JWKS_URL: `${urlOf('keys')}/keys`, DEVICE_JWT_ISSUER: 'i', DEVICE_JWT_AUDIENCE: 'a' },
      ...{ AAI_URL: urlOf('aai'), AAI_USER: 'user', AAI_PASSWORD: 'password', SINK_ALLOW: '127.0.0.1' },
      ...{ KUBECONFIG: kubeconfig, CLUSTERS: 'p+edge=edge,p+secure=secure', NODE_EXTRA_CA_CERTS: certificates.ca.file },
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: urlOf('collector'), TRACE_REQUESTS: '1' },
      ...{ ARCHIVE: 's3://archive/plant', AWS_ENDPOINT_URL_S3: urlOf('bucket'), HISTORY_DAYS: '1' },
      ...{ AWS_ACCESS_KEY_ID: 'a-key', AWS_SECRET_ACCESS_KEY: 'a-secret', TRUSTED_PROXIES: '127.0.0.1' },
      ...(broker && { MQTT_URL: urlOf('broker'), MQTT_PUBLISH: 'all' }),
      ...(git && { GIT: 'git', GIT_DIRECTORY: folder }),
    },
    async stop() {
      for (const end of ends.toReversed()) await end()
    },
  }
}
