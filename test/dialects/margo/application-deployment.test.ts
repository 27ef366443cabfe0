/** A document is checked where it is declared: what a device would stumble over there is said here, field by field. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  largestDocument,
  parseApplicationDeployment,
} from '../../../src/ingest/dialects/margo/application-deployment.ts'
import { atOnce } from '../../../src/platform/limits/pace.ts'

const folder = new URL('../../fixtures/desired-state/', import.meta.url)
const expected = { deploymentId: 'pumps-north', deviceId: 'gateway-1/edge-7' }
const parse = (text: string) => atOnce(parseApplicationDeployment(text))(expected)
const problemsOf = (text: string) => parse(text).problems ?? []
const fieldsOf = (text: string) => problemsOf(text).map(({ field }) => field)

/** A document that is right but for what is put in. */
function write(more: { top?: string; spec?: string; components?: string } = {}): string {
  const components = more.components ?? '[{ name: a }, { name: b }]'
  return `${more.top ?? ''}\nspec:\n  deploymentProfile: { type: helm, components: ${components} }\n${more.spec ?? ''}`
}

describe('an ApplicationDeployment', () => {
  it.each(readdirSync(folder))('%s is one', (file) => {
    const several = file === 'annotations.yaml'
    const only = file === 'top-level-id.yaml' ? 'station' : 'control'
    expect(parse(readFileSync(new URL(file, folder), 'utf8'))).toEqual({
      problems: null,
      application: 'pump-station',
      components: several ? ['store', 'control'] : [only],
    })
  })

  it('needs no more than its components', () => {
    expect(parse(write())).toEqual({ problems: null, application: null, components: ['a', 'b'] })
  })

  it('may be JSON, indented by tabs as YAML must not be', () => {
    const json = { spec: { deploymentProfile: { type: 'helm', components: [{ name: 'a' }] } } }
    expect(parse(JSON.stringify(json, null, '\t'))).toMatchObject({ components: ['a'] })
  })

  it('may leave it to a gateway where it runs', () => {
    expect(parse(write({ top: 'metadata: { deviceId: gateway-1/* }' })).problems).toBeNull()
    expect(fieldsOf(write({ top: 'metadata: { deviceId: gateway/* }' }))).toEqual(['metadata.deviceId'])
    expect(fieldsOf(write({ top: 'metadata: { deviceId: /* }' }))).toEqual(['metadata.deviceId'])
    expect(parse(write({ top: 'metadata: { targetName: gateway-1/* }' })).problems).toBeNull()
    expect(fieldsOf(write({ top: 'metadata: { targetName: edge-9 }' }))).toEqual(['metadata.targetName'])
  })

  it('may use what YAML has for not repeating oneself', () => {
    const text = write({
      top: 'x: &same { repository: oci://r }',
      components: '[{ name: &n a, properties: { <<: *same, revision: 1 } }, { name: b, properties: *same }]',
      spec: '  parameters: { p: { value: 1, targets: [{ pointer: x, components: [*n] }] } }',
    })
    expect(parse(text)).toMatchObject({ components: ['a', 'b'] })
  })

  it.each([
    ['kind: DeploymentStatus', 'kind'],
    ['apiVersion: 1', 'apiVersion'],
    ['id: pumps-south', 'id'],
    ['id: 7', 'id'],
    ['metadata: []', 'metadata'],
    ['metadata: { annotations: { id: other } }', 'metadata.annotations.id'],
    ['metadata: { annotations: { applicationId: [] } }', 'metadata.annotations.applicationId'],
    ['metadata: { deviceId: edge-7 }', 'metadata.deviceId'],
  ])('%s is refused there', (top, field) => {
    expect(fieldsOf(write({ top }))).toEqual([field])
  })

  it.each([
    ['  applicationId: ""', 'spec.applicationId'],
    ['  parameters: [1]', 'spec.parameters'],
    ['  parameters: { p: 1 }', 'spec.parameters.p'],
    ['  parameters: { "odd one": 1 }', 'spec.parameters["odd one"]'],
    ['  parameters: { p: { targets: {} } }', 'spec.parameters.p.targets'],
    ['  parameters: { p: { targets: [{ components: [a] }] } }', 'spec.parameters.p.targets[0].pointer'],
    ['  parameters: { p: { targets: [{ pointer: x, components: a }] } }', 'spec.parameters.p.targets[0].components'],
    [
      '  parameters: { p: { targets: [{ pointer: x, components: [b, c] }] } }',
      'spec.parameters.p.targets[0].components[1]',
    ],
  ])('%s is refused there', (spec, field) => {
    expect(fieldsOf(write({ spec }))).toEqual([field])
  })

  it.each([
    ['[]', 'spec.deploymentProfile.components'],
    ['{}', 'spec.deploymentProfile.components'],
    ['[a]', 'spec.deploymentProfile.components[0]'],
    ['[{ name: a }, { name: "" }]', 'spec.deploymentProfile.components[1].name'],
    ['[{ name: a }, { name: 7 }]', 'spec.deploymentProfile.components[1].name'],
    ['[{ name: a }, { name: b }, { name: a }]', 'spec.deploymentProfile.components[2].name'],
    [`[{ name: ${'x'.repeat(257)} }]`, 'spec.deploymentProfile.components[0].name'],
    [`[${'{ name: a },'.repeat(1001)}]`, 'spec.deploymentProfile.components'],
  ])('components %s are refused there', (components, field) => {
    expect(fieldsOf(write({ components }))).toEqual([field])
  })

  it('has everything that is wrong with it said at once', () => {
    const text =
      'kind: X\nid: y\nmetadata: { deviceId: z }\nspec: { deploymentProfile: { components: [{}, { name: "" }] } }'
    expect(fieldsOf(text)).toEqual([
      'kind',
      'id',
      'metadata.deviceId',
      'spec.deploymentProfile.type',
      'spec.deploymentProfile.components[0].name',
      'spec.deploymentProfile.components[1].name',
    ])
    expect(fieldsOf('spec: {}')).toEqual(['spec.deploymentProfile'])
    expect(fieldsOf('{}')).toEqual(['spec'])
    expect(
      fieldsOf(write({ top: 'metadata: { annotations: { applicationId: x } }', spec: '  applicationId: y' })),
    ).toEqual(['spec.applicationId'])
  })
})

describe('the text of one', () => {
  it.each([
    ['', /but is null/],
    ['just words', /must be an ApplicationDeployment, but is "just words"/],
    ['- a list', /but is a list/],
    ['null', /but is null/],
    ['a: [1', /line 1, column 6/],
    ['a: b\n---\nc: d', /several/],
    ['a: !secret b', /line 1, column 4/],
    ['a: *nowhere', /nowhere/],
    ['? [a, b]\n: c', /line 1/],
    ['a: "\0"', /NUL/],
    ['a: "\ud800"', /surrogate/],
    [`a: "${'é'.repeat(largestDocument / 2)}"`, /at most 262144 bytes, but has 262149/],
  ])('%j is refused as a whole', (text, message) => {
    expect(problemsOf(text)).toEqual([{ field: '', message: expect.stringMatching(message) }])
  })

  it('has no key twice, however it is spelled', () => {
    expect(fieldsOf(write({ top: 'metadata: { name: a, deviceId: x, "name": b }' }))).toEqual(['metadata.name'])
    expect(fieldsOf(write({ top: '1: a\n"1": b' }))).toEqual(['1'])
    expect(fieldsOf('{"spec": {}, "a": [{"b": 1, "b": 1}], "spec": {}}')).toEqual(['a[0].b', 'spec'])
  })

  it('knows no prototypes', () => {
    expect(fieldsOf('__proto__: { kind: ApplicationDeployment }\nconstructor: 1')).toEqual(['spec'])
    expect(fieldsOf('spec: { __proto__: { deploymentProfile: { type: helm } } }')).toEqual(['spec.deploymentProfile'])
  })

  const bomb = Array.from({ length: 9 }, (_, i) => `b${i + 1}: &b${i + 1} [${`*b${i},`.repeat(9)}]`)
  it.each([
    ['aliases of aliases of aliases', ['b0: &b0 [x,x,x,x,x,x,x,x,x]', ...bomb].join('\n')],
    ['many aliases', `a: &a [1]\nb: [${'*a,'.repeat(5000)}]`],
    ['itself', 'a: &a { b: [*a] }'],
    ['depth', `a: ${'['.repeat(70)}${']'.repeat(70)}`],
    ['depth in blocks', `a:\n  ${'- '.repeat(70)}x`],
    ['depth in objects', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`],
  ])('cannot blow up by %s', (_, text) => {
    expect(problemsOf(text)).toHaveLength(1)
  })

  // Each takes a parser that is not held back seconds, the fourth minutes. What there are most of is what the bound on words lets through.
  const evil = [
    '[',
    '{a: ',
    '- ',
    '? ',
    '[? ',
    'a: ',
    '] ',
    ': :\n',
    '&a ',
    '!a ',
    '---\n',
    '#\n',
    '\n',
    '"a" ',
    '*a ',
    '%TAG !a! a\n',
  ]
  it.each(
    evil.flatMap(
      (piece) =>
        [
          [piece, largestDocument - 10],
          [piece, 40_000],
        ] as const,
    ),
  )('is refused without long work for %j in %i bytes', (piece, size) =>
    expect(problemsOf(piece.repeat(size / piece.length))).toHaveLength(1),
  )

  it('may be large', () => {
    const text = Array.from({ length: 9000 }, (_, i) => `key-${i}: value`).join('\n')
    expect(parse(`${write()}\n${text}`)).toMatchObject({ components: ['a', 'b'] })
  })

  it('has what it repeats by its name looked at once: a small text is no large one', () => {
    const again = Array.from({ length: 90 }, (_, n) => `p${n}: { targets: *t }`).join(', ')
    expect(
      fieldsOf(write({ spec: `  parameters: { p: { targets: &t [1, 2] }, ${again}, q: { targets: 1 } }` })),
    ).toEqual(['spec.parameters.p.targets[0]', 'spec.parameters.p.targets[1]', 'spec.parameters.q.targets'])
  })

  it('has at most a hundred problems', () => {
    expect(problemsOf(write({ components: `[${'1,'.repeat(900)}]` }))).toHaveLength(100)
  })
})
