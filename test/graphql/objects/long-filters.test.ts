/** Filters with long lists and many conditions: a long list is one parameter, and finds what its values find one by one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxSelectorConditions, maxSelectorParts } from '../../../src/domain/selectors/selector.ts'
import { recordCapabilities } from '../../../src/ingest/commands/devices/capabilities.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { stores } from '../../support/databases/stores.ts'
import { createFacts } from '../filter-facts.ts'
import { type Api, startApi } from '../harness.ts'

const types = {
  deployments: 'DeploymentFilter',
  devices: 'DeviceFilter',
  resources: 'ResourceFilter',
  rollouts: 'RolloutFilter',
  changes: 'ChangeFilter',
} as const
type List = keyof typeof types

const odd = ['', '"', '\\', '{}', 'a,b', '%', '_', '\0', '+', 'p+', '++', 'p+q+r', 'é', '\ud800', '"name"']
const many = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))
const others = [...odd, ...many(1_000, (i) => `none ${i}`)]

const label = (text: string) => ({ key: text.split('=')[0] ?? '', value: text.split('=')[1] ?? '' })
const clusters = ['p+cluster one', '+cluster two', 'q+cluster three']
const labels = ['of=one', 'of=two', 'ring=own', 'of=own', 'ring=shadowed']
/** How a list of texts becomes a filter, for each filter whose lists were conditions of their own. */
const asked: readonly [string, List, readonly string[], (texts: readonly string[]) => object][] = [
  ...(['deployments', 'devices', 'rollouts', 'changes'] as const).map((list): (typeof asked)[number] => [
    `labels`,
    list,
    labels,
    (texts) => ({ labels: texts.map(label) }),
  ]),
  ...(['deployments', 'devices', 'rollouts', 'changes'] as const).map((list): (typeof asked)[number] => [
    'a label',
    list,
    ['one', 'two', 'own'],
    (texts) => ({ label: { key: 'of', in: texts } }),
  ]),
  ...(['deployments', 'resources', 'rollouts'] as const).map((list): (typeof asked)[number] => [
    'clusters',
    list,
    clusters,
    (texts) => ({ clusters: texts }),
  ]),
  ['error codes', 'deployments', ['quoted', 'E\\'], (texts) => ({ errorCodes: texts })],
  ['components', 'deployments', ['part of one', 'part of two', 'odd "\\ part'], (texts) => ({ components: texts })],
  [
    'verbatim components',
    'deployments',
    ['part of one', 'part of two', 'none'],
    (texts) => ({ components: texts.filter((text) => /^[\w ]*$/.test(text)) }),
  ],
]

describe.each(stores)('long filters on $name', (store) => {
  let api: Api
  let then = ''

  beforeAll(async () => {
    api = await startApi({ store })
    const facts = createFacts(() => api)
    for (const id of ['one', 'two', 'three']) {
      await facts.register(id)
      await facts.report(id)
      await facts.applied(id)
    }
    await facts.report('quoted', {
      error: { code: 'quoted', message: 'no disk' },
      components: [facts.part('x'), { name: 'odd "\\ part', state: 'INSTALLED', error: null }],
    })
    for (const [id, registered, own] of [
      ['own', [], ['ring=own', 'of=own']],
      ['shadow', ['ring=registered'], ['ring=shadowed']],
    ] as const) {
      const device = { deviceId: id, name: null, labels: registered.map(label), parent: null, expectedInterval: null }
      await facts.submit(registerDevices([{ ...device, tokenHash: id }]))
      await facts.submit(recordCapabilities(id, id, null, { text: '{}', generation: 'v1', labels: own.map(label) }))
      await facts.report(id)
    }
    then = (await api.ask('{ revision }')).revision
    await facts.failing('one')
    await facts.report('two', { deviceId: 'two/other' })
    await facts.report('three', { components: [facts.part('one')] })
  })
  afterAll(() => api.close())

  async function found(list: List, filter: object, asOf: string | null): Promise<string[]> {
    const field = list === 'changes' ? 'revision' : 'id'
    const past = asOf !== null && list !== 'changes' ? `, atRevision: "${asOf}"` : ''
    const document = `query ($filter: ${types[list]}) { ${list}(first: 100, filter: $filter${past}) { nodes { ${field} } } }`
    const answer = await api.ask(document, { filter })
    return answer[list].nodes.map((node: Readonly<Record<string, string>>) => node[field])
  }

  it.each(asked)('find by many %s in %s what they find one by one', async (_, list, texts, filterOf) => {
    for (const asOf of [null, then]) {
      const expected = new Set<string>()
      for (const text of texts) for (const name of await found(list, filterOf([text]), asOf)) expected.add(name)
      const all = await found(list, {}, asOf)
      expect(expected.size).toBeGreaterThan(0)
      expect(expected.size).toBeLessThan(all.length)
      const wanted = all.filter((name) => expected.has(name))
      for (const more of [[], others]) {
        const filter = filterOf([...texts, ...more])
        expect((await found(list, filter, asOf)).toSorted()).toEqual(wanted.toSorted())
        expect((await found(list, { where: { or: [filter] } }, asOf)).toSorted()).toEqual(wanted.toSorted())
        const rest = await found(list, { where: { not: filter } }, asOf)
        expect(rest.toSorted()).toEqual(all.filter((name) => !expected.has(name)).toSorted())
      }
    }
  })

  it('find by a label without many values what lacks each of them', async () => {
    for (const asOf of [null, then]) {
      const all = await found('deployments', {}, asOf)
      const had = new Set(await found('deployments', { label: { key: 'of', in: ['one', 'own'] } }, asOf))
      const filter = { label: { key: 'of', notIn: ['one', 'own', ...others] } }
      expect(await found('deployments', filter, asOf)).toEqual(all.filter((name) => !had.has(name)))
    }
  })

  it('may have as many conditions as are allowed, and no more', async () => {
    const states = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED']
    const part = { states, derivedStates: states, deploymentIds: ['one', 'two', 'own'], text: 'o' }
    const parts = many(maxSelectorParts - 1, () => part)
    expect(Object.keys(part)).toHaveLength(maxSelectorConditions / maxSelectorParts)
    for (const asOf of [null, then])
      for (const field of ['and', 'or'])
        expect(await found('deployments', { where: { [field]: parts } }, asOf)).toEqual(
          await found('deployments', part, asOf),
        )
    const whole = {
      ...part,
      consistent: true,
      hasError: false,
      stalled: false,
      reporters: ['one'],
      readiness: ['READY'],
      errorCodes: ['E'],
    }
    for (const field of ['and', 'or']) {
      const filter = { where: { [field]: parts.map(() => whole) } }
      const { errors } = await api.query(
        'query ($filter: DeploymentFilter) { deployments(filter: $filter) { totalCount } }',
        { filter },
      )
      expect(errors).toMatchObject([
        { message: 'where has 990 conditions; at most 400 are allowed', extensions: { code: 'BAD_USER_INPUT' } },
      ])
    }
  })
})
