/** deploy/helm/rollcall: the chart makes the objects of deploy/kubernetes, and its values have types. */
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { variables } from '../../src/server/config/config.ts'
import { secretVariables } from '../../src/server/config/secret-files.ts'
import { readPage } from '../support/documentation.ts'
import { canRender, createRenderer, merge, type Renderer, valuesOfChart } from '../support/systems/helm.ts'
import { hasKustomize, type KubernetesObject, kustomize, problemsOf } from '../support/systems/kustomize.ts'
import { podOf } from '../support/systems/pod.ts'
import { violationsOf } from '../support/systems/pod-standard.ts'

const chart = parse(readPage('deploy/helm/rollcall/Chart.yaml'))
const schema = JSON.parse(readPage('deploy/helm/rollcall/values.schema.json'))
const accepts = new Ajv({ allowUnionTypes: true }).compile(schema)

/** Those of deploy/kubernetes/production, of embedded, and of all else. */
const production = {
  image: { repository: 'registry.example/rollcall' },
  host: 'rollcall.example',
  trustedProxies: '10.244.0.0/16',
  ...Object.fromEntries(
    ['ingress', 'certificate', 'monitoring', 'autoscaling'].map((part) => [part, { enabled: true }]),
  ),
}
const embedded = { image: { repository: 'rollcall' }, database: 'embedded' }
const others = {
  ...{ host: 'rollcall.example', gateway: { enabled: true }, service: { tlsSecret: 'rollcall-tls' }, fsGroup: null },
  ...{ monitoring: { enabled: true, labels: { release: 'prometheus' } }, migrateByJob: true },
  ...{ networkPolicy: { enabled: false }, imagePullSecrets: ['registry'], resources: { requests: { cpu: 1 } } },
}

describe('the values of deploy/helm/rollcall', () => {
  it('are typed: the defaults are taken, and a mistake is refused', () => {
    for (const values of [{}, production, embedded, others])
      expect([accepts(merge(valuesOfChart(), values)), accepts.errors]).toEqual([true, null])
    const mistakes = [
      { replica: 2 },
      { replicas: 'two' },
      { database: 'mysql' },
      { ingress: { enable: true } },
      { settings: { HISTORY_DAYS: 90 } },
      { secret: { keys: ['PASSWORD'] } },
      { networkPolicy: { from: [] } },
    ]
    for (const values of mistakes) expect([values, accepts(merge(valuesOfChart(), values))]).toEqual([values, false])
  })

  it('have each type a default with a comment, and take no secret among the settings', () => {
    const { global: _, ...typed } = schema.properties
    expect(Object.keys(valuesOfChart()).toSorted()).toEqual(Object.keys(typed).toSorted())
    expect(schema.properties.secret.properties.keys.items.enum).toEqual(secretVariables)
    const setting = (name: string): boolean => accepts(merge(valuesOfChart(), { settings: { [name]: 'x' } }))
    const ownValues = ['PUBLIC_URL', 'TRUSTED_PROXIES', 'TLS_CERT', 'TLS_KEY']
    const refused = variables.filter((name) => !setting(name))
    expect(refused.toSorted()).toEqual([...secretVariables, ...ownValues].toSorted())
  })

  it('are of this version', () => {
    const { version } = JSON.parse(readPage('package.json'))
    expect([chart.name, chart.version, chart.appVersion]).toEqual(['rollcall', version, version])
  })
})

// Without helm and Go, nothing here can execute Go's templates.
describe.skipIf(!canRender)('deploy/helm/rollcall', () => {
  let renderer: Renderer
  beforeAll(() => {
    renderer = createRenderer()
  })
  afterAll(() => renderer.dispose())
  const render = (values: object) => renderer.render(values as Readonly<Record<string, unknown>>)

  it.skipIf(!hasKustomize()).each([
    ['production', production],
    ['embedded', embedded],
  ])('makes the objects of deploy/kubernetes/%s', (overlay, values) => {
    // The namespace is that of `helm install`, and the ConfigMap has a checksum instead of a hash in its name.
    const wanted = kustomize(overlay).filter(({ kind }) => kind !== 'Namespace')
    expect(compared(render(values))).toEqual(compared(wanted))
  })

  it('makes objects that Kubernetes takes, with every value', async () => {
    const objects = [...render(production), ...render(embedded), ...render(others)]
    expect(await problemsOf(objects)).toEqual([])
    const pods = objects.filter(({ spec }) => spec?.template?.spec)
    expect(pods.map(({ kind }) => kind).toSorted()).toEqual(['Deployment', 'Deployment', 'Job', 'StatefulSet'])
    for (const pod of pods) expect(violationsOf(podOf(pod))).toEqual([])
    expect(JSON.stringify(objects)).not.toContain('<no value>')
  })

  it('starts new servers when a setting changes', () => {
    const annotationsOf = (HISTORY_DAYS: string) =>
      render({ settings: { HISTORY_DAYS } }).find(({ kind }) => kind === 'Deployment')?.spec.template.metadata
        .annotations
    expect(annotationsOf('30')).not.toEqual(annotationsOf('31'))
    expect(annotationsOf('30')).toEqual(annotationsOf('30'))
  })

  it('says which value is missing', () => {
    expect(() => render({ ingress: { enabled: true } })).toThrow('host is needed by ingress, gateway and certificate')
  })
})

const own = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/version',
  'app.kubernetes.io/managed-by',
  'checksum/settings',
]

/** By kind and name, without what only one of the two ways has. */
function compared(objects: readonly KubernetesObject[]): unknown {
  const text = JSON.stringify(objects, (key, value) => {
    if (own.includes(key) || key === 'namespace' || key === 'imagePullPolicy') return undefined
    return ['labels', 'annotations'].includes(key) && Object.keys(value).every((name) => own.includes(name))
      ? undefined
      : value
  })
  const shortened = JSON.parse(text.replaceAll(/"rollcall-[a-z0-9]{10}"/g, '"rollcall"')) as KubernetesObject[]
  return Object.fromEntries(
    shortened
      .map((object) => [`${object.kind} ${object.metadata.name}`, object])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  )
}
