/** Whatever is declared is a document or a list of what is wrong with it: never an exception, never a problem without words. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { parseApplicationDeployment } from '../../../src/ingest/dialects/margo/application-deployment.ts'
import { atOnce } from '../../../src/platform/limits/pace.ts'

const expected = { deploymentId: 'pumps', deviceId: 'edge-1' }

function judge(text: string) {
  const outcome = atOnce(parseApplicationDeployment(text))(expected)
  if (outcome.problems === null) {
    expect(outcome.components.length).toBeGreaterThan(0)
    expect(new Set(outcome.components).size).toBe(outcome.components.length)
    return outcome
  }
  expect(outcome.problems.length).toBeGreaterThan(0)
  for (const { field, message } of outcome.problems)
    expect([typeof field, message]).toEqual(['string', expect.stringMatching(/^(must|is|cannot)/)])
  return null
}

const marks = [
  '- ',
  ': ',
  '? ',
  '[',
  ']',
  '{',
  '}',
  ',',
  '&a ',
  '*a',
  '!t ',
  '|\n',
  '>\n',
  '"',
  "'",
  '#',
  '\n',
  '  ',
  '---\n',
  '%YAML 1.1\n',
  '<<: ',
  'a',
  '\t',
  '\0',
  '\uFEFF',
  '\ud800',
]
const odd = fc.array(fc.constantFrom(...marks), { maxLength: 40 }).map((parts) => parts.join(''))

it('of any text', () => {
  fc.assert(fc.property(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 200 })), (text) => void judge(text)))
})

const names = [
  'kind',
  'id',
  'metadata',
  'annotations',
  'applicationId',
  'deviceId',
  'spec',
  'deploymentProfile',
  'type',
  'components',
  'name',
  'parameters',
  'targets',
  'pointer',
  '__proto__',
  'a b',
]
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.constantFrom('ApplicationDeployment', 'pumps', 'edge-1', 'web', '', 0, null, true),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('any'), { maxKeys: 5 }),
  ),
})).any

it('of any value, said in YAML or in JSON alike', () => {
  fc.assert(
    fc.property(value, (document) => {
      expect(judge(stringify(document, { aliasDuplicateObjects: false }))).toEqual(judge(JSON.stringify(document)))
    }),
  )
})

it('that is right, in any order of its keys and with anything beside', () => {
  const component = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((name) => !name.includes('\0'))
  const components = fc.uniqueArray(component, { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(components, fc.string(), fc.boolean(), (list, note, isFirst) => {
      const spec = { parameters: {}, deploymentProfile: { components: list.map((name) => ({ name })), type: 'helm' } }
      const document = isFirst
        ? { id: 'pumps', note, spec }
        : { spec, note: { note }, metadata: { deviceId: 'edge-1' } }
      expect(judge(JSON.stringify(document))).toEqual({ problems: null, application: null, components: list })
    }),
  )
})
