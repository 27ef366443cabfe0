/** deploy/kubernetes as `kubectl kustomize` prints it: the files of base, embedded, postgres, production, migrate and of each component. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseConfig, variables } from '../../src/server/config/config.ts'
import { secretFileVariables } from '../../src/server/config/secret-files.ts'
import { readPage, root } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { find, hasKustomize, type KubernetesObject, kustomize, problemsOf } from '../support/systems/kustomize.ts'
import { environmentOf, podOf } from '../support/systems/pod.ts'
import { type Container, violationsOf } from '../support/systems/pod-standard.ts'

const secrets = {
  API_ADMIN_KEY: 'an-admin-key-for-tests-only',
  DATABASE_URL: 'postgres://rollcall:secret@db.example/rollcall',
}

describe.skipIf(!hasKustomize())('deploy/kubernetes', () => {
  let rendered: Readonly<Record<string, readonly KubernetesObject[]>> = {}
  beforeAll(() => {
    rendered = {
      ...Object.fromEntries(['embedded', 'postgres', 'production', 'migrate'].map((name) => [name, kustomize(name)])),
      gateway: withComponents('postgres', 'gateway', 'certificates', 'openshift'),
      tls: withComponents('embedded', 'certificates', 'tls', 'monitoring', 'openshift'),
    }
  })
  const all = () => Object.values(rendered).flat()
  const objectsOf = (name: string) => rendered[name] ?? []
  const serverOf = (name: string) => find(objectsOf(name), 'Deployment', 'StatefulSet')
  const containerOf = (name: string): Container => podOf(serverOf(name)).containers[0] as Container

  it('has objects that the schemas of Kubernetes and of its extensions take, without a field that they do not know', async () => {
    expect(new Set(all().map(({ kind }) => kind))).toEqual(
      new Set([
        ...['Namespace', 'ServiceAccount', 'ConfigMap', 'Service', 'NetworkPolicy', 'Deployment', 'StatefulSet', 'Job'],
        ...['PodDisruptionBudget', 'HorizontalPodAutoscaler', 'Ingress', 'Gateway', 'HTTPRoute', 'Certificate'],
        ...['ServiceMonitor', 'PrometheusRule'],
      ]),
    )
    const [unknown, mistyped] = [structuredClone(serverOf('postgres')), structuredClone(serverOf('embedded'))]
    unknown.spec.replicaz = 2
    mistyped.spec.template.spec.terminationGracePeriodSeconds = 'long'
    expect(await problemsOf([...all(), unknown, mistyped])).toEqual([
      'StatefulSet rollcall: data/spec/template/spec/terminationGracePeriodSeconds must be integer',
      expect.stringContaining("'\"replicaz\"' does not exist in type 'IDeploymentSpec'"),
      expect.stringContaining("Type 'string' is not assignable to type 'number'"),
    ])
  })

  it('confines each pod as the restricted Pod standard asks, and its root is read-only', () => {
    const pods = all().filter(({ spec }) => spec?.template?.spec)
    expect(pods).toHaveLength(6)
    for (const pod of pods) expect([pod.metadata.name, violationsOf(podOf(pod))]).toEqual([pod.metadata.name, []])
    const { containers, ...pod } = podOf(serverOf('postgres'))
    const weaker = { ...pod, containers: containers.map((one) => ({ ...one, securityContext: {} })) }
    expect(violationsOf(weaker)).toHaveLength(3)
    const { labels } = find(objectsOf('postgres'), 'Namespace').metadata
    expect(labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' })
  })

  it.each(['embedded', 'postgres', 'production', 'gateway', 'tls'])(
    '%s sets variables that the server takes',
    (name) => {
      const environment = environmentOf(objectsOf(name), containerOf(name))
      const known = [...variables, ...secretFileVariables, 'NODE_ENV', 'NODE_OPTIONS']
      expect(Object.keys(environment).filter((variable) => !known.includes(variable))).toEqual([])
      // Its own file of each secret, where the Secret is mounted.
      const folder = temporaryFolder()
      for (const [key, secret] of Object.entries(secrets)) writeFileSync(join(folder, key), secret)
      const here = Object.fromEntries(
        Object.entries(environment).map(([key, value]) => [key, value.replace('/run/secrets/rollcall', folder)]),
      )
      const { store, auth } = parseConfig(here)
      expect([auth.api.adminKey, store.url]).toEqual([
        secrets.API_ADMIN_KEY,
        ['embedded', 'tls'].includes(name) ? null : secrets.DATABASE_URL,
      ])
    },
  )

  it('has no file that no installation has', () => {
    const folder = join(root, 'deploy/kubernetes')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'))
    const used = files
      .filter((name) => name.endsWith('kustomization.yaml'))
      .flatMap((name) => {
        const { resources = [] } = parse(readFileSync(join(folder, name), 'utf8'))
        return [name, ...resources.map((resource: string) => join(dirname(name), resource))]
      })
    expect(files.filter((name) => !used.includes(name))).toEqual([])
    const components = readdirSync(join(folder, 'components'))
    const text =
      readFileSync(import.meta.filename, 'utf8') + readPage('deploy/kubernetes/production/kustomization.yaml')
    expect(components.filter((name) => !text.includes(name))).toEqual([])
  })

  it('runs the version of this package', () => {
    const { version } = JSON.parse(readPage('package.json'))
    const images = all().flatMap(({ spec }) =>
      (spec?.template?.spec.containers ?? []).map(({ image }: Container) => image.split('/').at(-1)),
    )
    expect(new Set(images)).toEqual(new Set([`rollcall:${version}`]))
  })

  it('selects its own pods and services', () => {
    const { metadata, spec } = serverOf('production')
    const { labels } = spec.template.metadata
    expect(labels).toEqual({ 'app.kubernetes.io/name': 'rollcall' })
    const spread = spec.template.spec.topologySpreadConstraints
    expect(spread.map(({ topologyKey }: { topologyKey: string }) => topologyKey)).toEqual([
      'kubernetes.io/hostname',
      'topology.kubernetes.io/zone',
    ])
    const kinds = ['NetworkPolicy', 'PodDisruptionBudget', 'ServiceMonitor']
    const objects = kinds.map((kind) => find(objectsOf('production'), kind).spec)
    const selectors = [spec, ...objects, ...spread].map((one) => one.selector ?? one.podSelector ?? one.labelSelector)
    for (const selector of selectors) expect(selector).toEqual({ matchLabels: labels })
    const service = find(objectsOf('production'), 'Service')
    expect(service.spec.selector).toEqual(labels)
    const { scaleTargetRef: scaled } = find(objectsOf('production'), 'HorizontalPodAutoscaler').spec
    expect([scaled.kind, scaled.name, spec.replicas]).toEqual(['Deployment', metadata.name, undefined])
    const { secretName } = find(objectsOf('production'), 'Certificate').spec
    expect(find(objectsOf('production'), 'Ingress').spec.tls[0].secretName).toBe(secretName)
    const [listener] = find(objectsOf('gateway'), 'Gateway').spec.listeners
    expect(listener.tls.certificateRefs).toEqual([{ name: secretName }])
  })

  it('gives Prometheus the job and the rules of deploy/monitoring', () => {
    const { jobLabel, endpoints } = find(objectsOf('production'), 'ServiceMonitor').spec
    const service = find(objectsOf('production'), 'Service')
    const [{ job_name: job }] = parse(readPage('deploy/monitoring/prometheus.yml')).scrape_configs
    expect(service.metadata.labels?.[jobLabel]).toBe(job)
    expect(service.spec.ports.map(({ name }: { name: string }) => name)).toContain(endpoints[0].port)
    const groups = objectsOf('production')
      .filter(({ kind }) => kind === 'PrometheusRule')
      .map(({ spec }) => spec.groups)
    const shipped = ['fleet', 'operating'].map((name) => parse(readPage(`deploy/monitoring/${name}.rules.yml`)).groups)
    expect(groups).toEqual(shipped)
  })

  it('asks for the resources of docs/performance.md', () => {
    const page = readPage('docs/performance.md')
    const [, postgres, embedded] = /^\| A server \| (\d+) MB .*?, (\d+) MB /m.exec(page) ?? []
    const [, soaked] = /^\| A server in an \[hour of soak\].* \d+ to (\d+) MiB of memory,/m.exec(page) ?? []
    const mebibytes = (text = ''): number => Number.parseInt(text, 10) * (text.endsWith('Gi') ? 1_024 : 1)
    const of = (name: string) => {
      const { requests, limits } = containerOf(name).resources
      expect(limits.cpu).toBeUndefined()
      return [mebibytes(requests.memory), mebibytes(limits.memory)] as const
    }
    const [asked, most] = of('postgres')
    expect(asked).toBeGreaterThanOrEqual(Math.max(Number(postgres), Number(soaked)))
    // The heap, the buffers outside of it, and what the process needs besides.
    const { NODE_OPTIONS = '' } = environmentOf(objectsOf('postgres'), containerOf('postgres'))
    const heap = Number(/--max-old-space-size=(\d+)/.exec(NODE_OPTIONS)?.[1])
    expect(heap + 256 + 200).toBeLessThanOrEqual(most)
    const [askedEmbedded, mostEmbedded] = of('embedded')
    expect(askedEmbedded).toBeGreaterThanOrEqual(Number(embedded))
    expect(mostEmbedded).toBeGreaterThan(askedEmbedded)
  })

  it('has probes that differ, and a grace for preStop and the end of the server', () => {
    const { startupProbe, livenessProbe, readinessProbe, lifecycle } = containerOf('postgres')
    const patience = (probe = startupProbe) => (probe?.periodSeconds ?? 0) * (probe?.failureThreshold ?? 0)
    expect(patience()).toBeGreaterThanOrEqual(1_800)
    expect([livenessProbe?.httpGet.path, patience(livenessProbe) >= 60]).toEqual(['/healthz', true])
    // The server gives up its own check after 5 s.
    expect([readinessProbe?.httpGet.path, (readinessProbe?.timeoutSeconds ?? 0) > 5]).toEqual(['/readyz', true])
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(readPage('docs/operating.md')) ?? []
    const grace = podOf(serverOf('postgres')).terminationGracePeriodSeconds ?? 0
    expect(grace).toBeGreaterThanOrEqual(Number(lifecycle?.preStop.sleep.seconds) + Number(seconds))
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
      expect(containerOf('tls')[probe]?.httpGet).toMatchObject({ scheme: 'HTTPS', port: 'http' })
  })

  it('leaves the user and the group to OpenShift', () => {
    for (const name of ['gateway', 'tls']) expect(podOf(serverOf(name)).securityContext).not.toHaveProperty('fsGroup')
    expect(podOf(serverOf('postgres')).securityContext).toHaveProperty('fsGroup')
    // The user of OpenShift is in the group 0.
    expect(readPage('deploy/Dockerfile')).toContain('mkdir -m 0770 /data && chown 1000:0 /data')
  })
})

/** An installation with components that no shipped one has. */
function withComponents(installation: string, ...names: readonly string[]): readonly KubernetesObject[] {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-kustomize-'))
  try {
    const path = (name: string): string => relative(folder, join(root, 'deploy/kubernetes', name))
    const components = names.map((name) => path(`components/${name}`))
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify({ resources: [path(installation)], components }))
    return kustomize(relative(join(root, 'deploy/kubernetes'), folder))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
