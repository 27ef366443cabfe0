/** Groups within groups are what grouping the deployments of each group gives, at the same revision. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'
import { groupings, type Part, registerSites, sent } from './deployment-group-model.ts'

const bare = 'key detail components counts { total failed pending installing installed } since changedAt revision'
const members = 'deployments(first: 2) { id revision } newest: deployments(first: 1) { id }'
const fields = `${bare} ${members} rollout { name } target { name }`
const page = (nodes: string) => `totalCount pageInfo { hasNextPage endCursor } nodes { ${nodes} }`
const orders = [
  ...['orderBy: SIZE_DESC', 'orderBy: FAILED_DESC', 'orderBy: CHANGED_DESC', 'orderBy: VALUE'],
  ...['ordering: { field: SIZE }', 'ordering: { field: VALUE, direction: DESC }'],
]

interface Group {
  readonly key: string | null
  readonly detail: string | null
  readonly counts: { readonly total: number }
}

interface NestingGroup extends Group {
  readonly deploymentGroups: { readonly totalCount: number; readonly nodes: readonly NestingGroup[] }
}

function inputOf(by: string, { key, detail }: Group): string {
  const [name, labelKey = ''] = by.split(', ')
  return `group: { by: ${name} ${labelKey} key: ${JSON.stringify(key)} detail: ${JSON.stringify(detail)} }`
}

const sum = (groups: readonly Group[]): number => groups.reduce((total, { counts }) => total + counts.total, 0)

describe.each(stores)('groups within groups on $name', (store) => {
  let api: Api
  let first = 0
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await registerSites(api)
    first = Number((await api.ask('{ revision }')).revision)
  })
  afterAll(() => api.close())

  it('equal the groups of the deployments of each group, for any two groupings, filter, order and revision', async () => {
    const names = Object.keys(groupings)
    const wishes = fc.record({
      reports: fc.array(sent, { minLength: 1, maxLength: 12 }),
      filter: fc.constantFrom('', 'states: [FAILED]', 'hasError: true', 'labels: [{key: "site", value: "bonn"}]'),
      pairs: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), {
        minLength: 4,
        maxLength: 4,
        selector: (pair) => pair.join(),
      }),
      order: fc.constantFrom(...orders),
      size: fc.integer({ min: 1, max: 3 }),
      at: fc.option(fc.integer({ min: 0, max: 100 }), { nil: null }),
    })
    await fc.assert(
      fc.asyncProperty(wishes, async ({ reports, filter, pairs, order, size, at }) => {
        for (const { device, deployment, ...rest } of reports)
          await api.report({ reporter: `edge-${device}`, deploymentId: `app-${deployment}`, ...rest })
        const newest = Number((await api.ask('{ revision }')).revision)
        const moment = at === null ? null : Math.round(first + ((newest - first) * (100 - at)) / 100)
        const past = moment === null ? '' : `, atRevision: "${moment}"`
        const listFields =
          'reporter state error { code message } application applicationVersion convergence adoptedManifestVersion rollout { id } target { id labels { key value } } components { name state error { code message } }'
        const { deployments } = await api.ask(
          `{ deployments(first: 100, filter: {${filter}}${past}) { nodes { id ${listFields} } } }`,
        )
        for (const [outer, inner] of pairs) {
          const inside = `by: ${inner}, ${order}, first: ${size}`
          const nested = await api.ask(
            `{ deploymentGroups(by: ${outer}, filter: {${filter}}, first: 100${past}) { nodes { key detail counts { total } deploymentGroups(${inside}) { ${page(fields)} } } } }`,
          )
          const groups: NestingGroup[] = nested.deploymentGroups.nodes
          const flat = groups.map(
            (group, index) =>
              `g${index}: deploymentGroups(${inside}, filter: {${filter} ${inputOf(outer, group)}}${past}) { ${page(fields)} }`,
          )
          const expected = flat.length === 0 ? {} : await api.ask(`{ ${flat.join(' ')} }`)
          for (const [index, group] of groups.entries()) {
            const told = [outer, inner, filter, past, group.key]
            expect([told, group.deploymentGroups]).toEqual([told, expected[`g${index}`]])
            // The list itself, grouped here: the flat question could have the same defect.
            const rows = deployments.nodes.filter((row: unknown) =>
              groupings[outer]?.(row).some(({ key, detail }) => key === group.key && detail === group.detail),
            )
            // biome-ignore lint/suspicious/noExplicitAny: a row of the list.
            const parts: Part[] = rows.flatMap((row: any) => groupings[inner]?.(row) ?? [])
            const sizes = Map.groupBy(parts, (part) => JSON.stringify(part.key) + JSON.stringify(part.detail))
            expect([told, group.deploymentGroups.totalCount]).toEqual([told, sizes.size])
            for (const { key, detail, counts } of group.deploymentGroups.nodes)
              expect([told, counts.total]).toEqual([
                told,
                sizes.get(JSON.stringify(key) + JSON.stringify(detail))?.length,
              ])
          }
        }
      }),
      { numRuns: someOf(5, 12) },
    )
  })

  it('nest again, and name the deployments of each', async () => {
    const { deploymentGroups } = await api.ask(`{ deploymentGroups(by: LABEL, labelKey: "site") { nodes {
      key detail counts { total } deploymentGroups(by: CONVERGENCE) { nodes {
        key detail counts { total } deploymentGroups(by: TARGET) { totalCount nodes { key detail counts { total } deployments(first: 9) { id target { id } } } }
      } }
    } } }`)
    const groups: NestingGroup[] = deploymentGroups.nodes
    expect(groups.length).toBe(3)
    for (const group of groups)
      for (const inner of group.deploymentGroups.nodes) {
        expect(sum(inner.deploymentGroups.nodes)).toBe(inner.counts.total)
        for (const target of inner.deploymentGroups.nodes) {
          const { deployments } = target as unknown as { deployments: { id: string; target: { id: string } }[] }
          expect(deployments.length).toBe(target.counts.total)
          expect(deployments.every((one) => one.target.id === target.key)).toBe(true)
        }
      }
  })

  it('tell groups apart whose names would be one text', async () => {
    const fail = (deploymentId: string, code: string, message: string) =>
      api.report({ reporter: `edge-${deploymentId}`, deploymentId, state: 'FAILED', error: { code, message } })
    const separators = ['\n', '+', '+\n', '+:', '-', ', ']
    const ids = separators.flatMap((_, index) => [`odd-${index}-a`, `odd-${index}-b`])
    for (const [index, separator] of separators.entries()) {
      await fail(`odd-${index}-a`, 'a', `b${separator}c`)
      await fail(`odd-${index}-b`, `a${separator}b`, 'c')
    }
    const { deploymentGroups } = await api.ask(
      `{ deploymentGroups(by: ERROR, first: 100, filter: { deploymentIds: ${JSON.stringify(ids)} }) { nodes { deployments(first: 2) { deploymentId } deploymentGroups(by: TARGET) { nodes { deployments(first: 2) { deploymentId } } } } } }`,
    )
    const found = deploymentGroups.nodes.map(
      // biome-ignore lint/suspicious/noExplicitAny: groups, as selected above.
      ({ deployments, deploymentGroups: { nodes } }: any) => [
        deployments.map(({ deploymentId }: { deploymentId: string }) => deploymentId),
        ...nodes.flatMap(({ deployments: own }: { deployments: { deploymentId: string }[] }) =>
          own.map(({ deploymentId }) => deploymentId),
        ),
      ],
    )
    expect(found.toSorted()).toEqual(ids.map((id) => [[id], id]))
  })

  it('go on in the flat list from their cursor', async () => {
    const inside = 'by: LABEL, labelKey: "site"'
    const { deploymentGroups } = await api.ask(
      `{ deploymentGroups(by: CONVERGENCE, first: 1) { nodes { key detail counts { total } deploymentGroups(${inside}, first: 1) { ${page('key detail counts { total }')} } } } }`,
    )
    const [group] = deploymentGroups.nodes
    const { nodes, totalCount, pageInfo } = group.deploymentGroups
    expect(pageInfo.hasNextPage).toBe(true)
    const rest = await api.ask(
      `{ deploymentGroups(${inside}, filter: { ${inputOf('CONVERGENCE', group)} }, after: "${pageInfo.endCursor}") { nodes { key detail counts { total } } } }`,
    )
    expect(rest.deploymentGroups.nodes).toHaveLength(totalCount - 1)
    expect(sum([...nodes, ...rest.deploymentGroups.nodes])).toBe(group.counts.total)
  })

  it('add up within the groups of each rollout', async () => {
    const { rollouts } = await api.ask(
      '{ rollouts(first: 50) { nodes { deploymentCounts { total } deploymentGroups(by: ERROR, first: 30) { nodes { key detail counts { total } deploymentGroups(by: TARGET, first: 30) { nodes { key detail counts { total } } } } } } } }',
    )
    expect(rollouts.nodes.length).toBeGreaterThan(1)
    for (const { deploymentCounts, deploymentGroups } of rollouts.nodes) {
      expect(sum(deploymentGroups.nodes)).toBe(deploymentCounts.total)
      for (const group of deploymentGroups.nodes) expect(sum(group.deploymentGroups.nodes)).toBe(group.counts.total)
    }
  })

  it('show a viewer with an access scope only what is in it', async () => {
    const { deploymentGroups } = await api.ask(
      '{ deploymentGroups(by: CONVERGENCE) { nodes { key detail counts { total } deploymentGroups(by: TARGET, first: 100) { totalCount nodes { key detail counts { total } target { name } } } } } }',
      {},
      'viewer/label:site=bonn',
    )
    const groups: NestingGroup[] = deploymentGroups.nodes
    expect(groups.length).toBeGreaterThan(0)
    for (const { counts, deploymentGroups: inner } of groups) {
      expect(sum(inner.nodes)).toBe(counts.total)
      const seen = inner.nodes.map((group) => (group as unknown as { target: { name: string } }).target.name)
      expect(seen.every((name) => name === 'edge-2' || name === 'edge-3')).toBe(true)
    }
  })

  it('are, live, those of the group at each cursor, and add up to its number', async () => {
    const inner =
      'deploymentGroups(by: LABEL, labelKey: "site", first: 2) { totalCount nodes { key detail counts { total } deployments(first: 1) { state } } }'
    const all = 'all: deploymentGroups(by: TARGET) { nodes { key detail counts { total } } }'
    const group = `key detail counts { total } ${inner}`
    const args = 'by: ERROR, first: 3, filter: { states: [FAILED], deploymentIds: ["live-0", "live-1", "live-2"] }'
    const watched = transports.map(({ watch }) =>
      watch(
        api.url,
        `subscription { deploymentGroups(${args}) { cursor isSnapshot removed rows { from position group { ${group} ${all} } } } }`,
        {},
        'viewer',
      ),
    )
    const lists = watched.map(() => [] as NestingGroup[])
    let updates = 0
    const following = watched.map(async (stream, index) => {
      for (;;) {
        const { deploymentGroups: update } = await stream.data()
        const gone = new Set([...update.removed, ...update.rows.map(({ from }: { from: number | null }) => from)])
        const list = update.isSnapshot ? [] : (lists[index] ?? []).filter((_, position) => !gone.has(position))
        for (const {
          position,
          group: { all: parts, ...one },
        } of update.rows) {
          expect(sum(parts.nodes)).toBe(one.counts.total)
          list.splice(position, 0, one)
        }
        lists[index] = list
        updates += 1
        const past = await api.ask(
          `{ deploymentGroups(${args}, atRevision: "${update.cursor}") { nodes { ${group} } } }`,
        )
        expect(list).toEqual(past.deploymentGroups.nodes)
      }
    })
    const ended = Promise.allSettled(following)
    await Promise.race([expect.poll(() => updates).toBe(watched.length), ...following])
    for (const { device, deployment, ...rest } of fc.sample(sent, { numRuns: 25, seed: 7 }))
      await api.report({ reporter: `edge-${device}`, deploymentId: `live-${deployment}`, ...rest })
    const { deploymentGroups } = await api.ask(`{ deploymentGroups(${args}) { nodes { ${group} } } }`)
    for (const index of lists.keys())
      await Promise.race([expect.poll(() => lists[index]).toEqual(deploymentGroups.nodes), ...following])
    expect(updates).toBeGreaterThan(watched.length)
    for (const stream of watched) await stream.close()
    for (const result of await ended) expect(result).toMatchObject({ reason: { message: 'the stream is complete' } })
  })
})

describe('groups within groups', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi()
    await api.report({ reporter: 'edge-0', deploymentId: 'one' })
  })
  afterAll(() => api.close())

  it.each([
    ['by: LABEL', 'labelKey is required to group by LABEL'],
    ['by: ERROR, labelKey: "site"', 'labelKey cannot be combined with ERROR'],
    ['by: ERROR, first: 101', 'first must be from 0 to 100, but is 101'],
  ])('refuse %s', async (args, message) => {
    const { errors } = await api.query(
      `{ deploymentGroups(by: ERROR) { nodes { deploymentGroups(${args}) { totalCount } } } }`,
    )
    expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }])
  })

  const nest = (levels: number, size: number): string =>
    levels === 0 ? 'totalCount' : `nodes { deploymentGroups(by: TARGET, first: ${size}) { ${nest(levels - 1, size)} } }`

  it('have three levels, and are refused at the fourth', async () => {
    api.statements()
    await api.ask(`{ deploymentGroups(by: ERROR) { ${nest(2, 1)} } }`)
    const statements = api.statements()
    const { errors } = await api.query(`{ deploymentGroups(by: ERROR) { ${nest(3, 1)} } }`)
    expect(errors).toMatchObject([{ message: 'groups nest 3 levels deep', extensions: { code: 'BAD_USER_INPUT' } }])
    expect(api.statements()).toBe(statements)
  })

  it('cost the product of their sizes, and are refused before anything is read', async () => {
    api.statements()
    const { errors } = await api.query(`{ deploymentGroups(by: ERROR, first: 100) { ${nest(2, 100)} } }`)
    expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'cost' } }])
    const deep = await api.query(`{ deploymentGroups(by: ERROR, first: 1) { ${nest(11, 1)} } }`)
    expect(deep.errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'depth' } }])
    expect(api.statements()).toBe(0)
  })
})
