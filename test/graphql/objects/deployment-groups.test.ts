/** Groups are what grouping the whole list gives, now and at every revision; their sizes add up to the counts. */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nameColumn, placeOf } from '../../../src/store/read/groups/grouping.ts'
import { newestOfGroups } from '../../../src/store/read/groups/members.ts'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'
import { groupings, type Part, registerSites, sent } from './deployment-group-model.ts'

const groupFields = `nodes { key detail components counts { total failed pending installing installed convergence { unknown } }
  since changedAt revision deployments(first: 2) { id revision } newest: deployments(first: 1) { id revision } rollout { name } target { name } }
  totalCount pageInfo { hasNextPage endCursor }`
const groupsOf = (args: string, after: string | null = null) =>
  `deploymentGroups(${args}, first: 3${after === null ? '' : `, after: "${after}"`}) { ${groupFields} }`

const listFields = `nodes { id deploymentId reporter state error { code message } application applicationVersion convergence
  adoptedManifestVersion changedAt revision rollout { id } target { id labels { key value } } components { name state error { code message } } }`

interface Group {
  readonly key: string | null
  readonly detail: string | null
  readonly revision: string
  readonly counts: { readonly total: number; readonly failed: number }
}

/** Null is first. */
function compare(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null)
  return a < b ? -1 : Number(a > b)
}

describe.each(stores)('groups of deployments on $name', (store) => {
  let api: Api
  let first = 0
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await registerSites(api)
    first = (await api.ask('{ revision }')).revision
  })
  afterAll(() => api.close())

  async function allGroups(args: string, wrap: (field: string) => string): Promise<Record<string, unknown>[]> {
    const groups: Record<string, unknown>[] = []
    for (let after: string | null = null; ; ) {
      const answer = await api.ask(`{ ${wrap(groupsOf(args, after))} }`)
      const page = answer.rollout?.deploymentGroups ?? answer.deploymentGroups
      groups.push(...page.nodes)
      if (!page.pageInfo.hasNextPage) {
        expect(page.totalCount).toBe(groups.length)
        return groups
      }
      after = page.pageInfo.endCursor
    }
  }

  it('have their own deployments beside groups of another grouping', async () => {
    await api.report({ reporter: 'edge-0', deploymentId: 'beside' })
    const group = { parent: 0, span: null }
    const name = { labelKey: null, detail: null }
    const groups = [
      { ...group, name: { ...name, by: 'CONVERGENCE', value: 'UNKNOWN' } },
      { ...group, name: { ...name, by: 'MANIFEST_VERSION', value: null } },
    ] as const
    const found = await newestOfGroups(
      api.road.database.session,
      groups,
      { of: 'fleet', filter: { deploymentIds: ['beside'] }, asOf: null },
      1,
    )
    expect([0, 1].map((index) => found.get(index)?.map(({ deploymentId }) => deploymentId))).toEqual([
      ['beside'],
      ['beside'],
    ])
  })

  it('equal the list, grouped, for every grouping, filter and revision', async () => {
    const wishes = fc.record({
      reports: fc.array(sent, { minLength: 1, maxLength: 12 }),
      filter: fc.constantFrom('', 'states: [FAILED]', 'hasError: true', 'labels: [{key: "site", value: "bonn"}]'),
      at: fc.option(fc.integer({ min: 0, max: 100 }), { nil: null }),
    })
    await fc.assert(
      fc.asyncProperty(wishes, async ({ reports, filter, at }) => {
        for (const { device, deployment, ...rest } of reports)
          await api.report({ reporter: `edge-${device}`, deploymentId: `app-${deployment}`, ...rest })
        const newest = Number((await api.ask('{ revision }')).revision)
        const moment = at === null ? null : Math.round(Number(first) + ((newest - Number(first)) * (100 - at)) / 100)
        const past = moment === null ? '' : `, atRevision: "${moment}"`
        const { deployments, deploymentCounts } = await api.ask(
          `{ deployments(first: 100, filter: {${filter}}${past}) { ${listFields} }
             deploymentCounts(filter: {${filter}}${past}) { total } }`,
        )
        for (const [by, partsOf] of Object.entries(groupings)) {
          const groups = await allGroups(`by: ${by}, filter: {${filter}}${past}`, (field) => field)
          // biome-ignore lint/suspicious/noExplicitAny: rows of the list.
          const rows: any[] = deployments.nodes
          const expected = Map.groupBy(
            rows.flatMap((row) => partsOf(row).map((part) => ({ part, row }))),
            ({ part: { key, detail } }) => JSON.stringify([key, detail]),
          )
          const counted = (members: readonly { part: Part }[], state: string) =>
            members.filter(({ part }) => part.state === state).length
          const changes = (members: readonly { row: { changedAt: string } }[]) =>
            members.map(({ row }) => row.changedAt).toSorted()
          expect(
            // biome-ignore lint/suspicious/noExplicitAny: a group, as selected above.
            groups.map(({ key, detail, counts: c, since, changedAt, revision, deployments, newest }: any) => [
              JSON.stringify([key, detail]),
              [c.total, c.failed, c.pending, c.installing, c.installed],
              [since, changedAt, revision],
              deployments,
              newest,
            ]),
          ).toEqual(
            expect.arrayContaining(
              [...expected].map(([name, members]) => [
                name,
                [
                  members.length,
                  ...['FAILED', 'PENDING', 'INSTALLING', 'INSTALLED'].map((state) => counted(members, state)),
                ],
                [changes(members)[0], changes(members).at(-1), members[0]?.row.revision],
                ...[2, 1].map((size) => members.slice(0, size).map(({ row: { id, revision } }) => ({ id, revision }))),
              ]),
            ),
          )
          expect(groups).toHaveLength(expected.size)
          const sizes = groups.map(({ counts }) => (counts as { total: number }).total)
          expect(sizes).toEqual(sizes.toSorted((a, b) => b - a))
          if (!by.endsWith('COMPONENT')) expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(deploymentCounts.total)
          const [group] = groups
          if (!group) continue
          const [name, labelKey] = by.split(', ')
          const input = `by: ${name} ${labelKey ?? ''} key: ${JSON.stringify(group.key)} detail: ${JSON.stringify(group.detail)}`
          const members = await api.ask(
            `{ deployments(first: 100, filter: {${filter} group: {${input}}}${past}) { nodes { id } } }`,
          )
          expect(members.deployments.nodes.map(({ id }: { id: string }) => id)).toEqual(
            expected.get(JSON.stringify([group.key, group.detail]))?.map(({ row }) => row.id),
          )
        }
      }),
      { numRuns: someOf(5, 12) },
    )
  })

  it.each([
    ['SIZE', ({ counts }: Group) => counts.total],
    ['FAILED', ({ counts }: Group) => counts.failed],
    ['CHANGED', ({ revision }: Group) => Number(revision)],
    ['VALUE', () => 0],
  ])('are in the order of %s, in both directions, on every page', async (field, numberOf) => {
    const names = (groups: readonly Group[]) => groups.map(({ key, detail }) => [key, detail])
    const byKey = (groups: readonly Group[]) =>
      groups.toSorted((a, b) => compare(a.key, b.key) || compare(a.detail, b.detail))
    const whole = 'nodes { key detail revision counts { total failed } } pageInfo { endCursor }'
    for (const by of ['by: ERROR', 'by: COMPONENT', 'by: LABEL, labelKey: "site"'])
      for (const [direction, sign] of [['ASC', 1] as const, ['DESC', -1] as const]) {
        const args = `${by}, ordering: { field: ${field}, direction: ${direction} }`
        const { deploymentGroups } = await api.ask(`{ deploymentGroups(${args}, first: 100) { ${whole} } }`)
        const groups: Group[] = deploymentGroups.nodes
        const sorted = byKey(groups).toSorted((a, b) => sign * (numberOf(a) - numberOf(b)))
        expect(names(groups)).toEqual(names(field === 'VALUE' && sign < 0 ? sorted.toReversed() : sorted))
        expect(await allGroups(args, (text) => text)).toMatchObject(groups)
      }
    const { deploymentGroups } = await api.ask(`{ deploymentGroups(by: ERROR, orderBy: VALUE, first: 1) { ${whole} } }`)
    const { errors } = await api.query(
      `{ deploymentGroups(by: ERROR, ordering: { field: VALUE, direction: DESC }, after: "${deploymentGroups.pageInfo.endCursor}") { ${whole} } }`,
    )
    expect(errors).toMatchObject([{ message: 'after is not a cursor of this list in this order' }])
  })

  it('have a place of their own in the order, whatever line breaks their keys and details have', async () => {
    const letters = ['', '0', '1', '2', '\n']
    const parts = [null, ...new Set(letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c))))]
    const names = parts.flatMap((value) => parts.map((detail) => ({ value, detail })))
    const rows = await api.road.database.session.rows<{ name: string }>(
      sql`select ${nameColumn} as name from json_to_recordset(${JSON.stringify(names)}::json) as part(value text, detail text)`,
    )
    expect(rows.map(({ name }) => name)).toEqual(names.map(placeOf))
    expect(new Set(rows.map(({ name }) => name)).size).toBe(names.length)
  })

  it('of a rollout add up to its counts', async () => {
    const { rollouts } = await api.ask('{ rollouts(first: 5) { nodes { id name } } }')
    for (const { id } of rollouts.nodes) {
      const { rollout } = await api.ask(
        `{ rollout(id: "${id}") { deploymentCounts { total } ${groupsOf('by: ERROR')} } }`,
      )
      const sizes = rollout.deploymentGroups.nodes.map(({ counts }: { counts: { total: number } }) => counts.total)
      if (!rollout.deploymentGroups.pageInfo.hasNextPage)
        expect(sizes.reduce((sum: number, size: number) => sum + size, 0)).toBe(rollout.deploymentCounts.total)
    }
  })

  it.each([
    ['by: LABEL', 'labelKey is required to group by LABEL'],
    ['by: ERROR, labelKey: "site"', 'labelKey cannot be combined with ERROR'],
    ['by: ERROR, first: 101', 'first must be from 0 to 100, but is 101'],
  ])('refuse %s', async (args, message) => {
    const { errors } = await api.query(`{ deploymentGroups(${args}) { totalCount } }`)
    expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }])
  })

  it('refuse more deployments of each group than one read may take', async () => {
    const { errors } = await api.query('{ deploymentGroups(by: ERROR) { nodes { deployments(first: 11) { id } } } }')
    expect(errors).toMatchObject([{ message: 'first must be from 0 to 10, but is 11' }])
  })

  it('show a viewer with an access scope only what is in it', async () => {
    const total = async (as: string) => {
      const { deploymentGroups, deploymentCounts } = await api.ask(
        '{ deploymentGroups(by: TARGET, first: 100) { nodes { target { name } counts { total } } } deploymentCounts { total } }',
        {},
        as,
      )
      const sizes = deploymentGroups.nodes.map(({ counts }: { counts: { total: number } }) => counts.total)
      expect(sizes.reduce((sum: number, size: number) => sum + size, 0)).toBe(deploymentCounts.total)
      return deploymentGroups.nodes.map(({ target }: { target: { name: string } }) => target.name)
    }
    const seen = await total('viewer/label:site=bonn')
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.every((name: string) => name === 'edge-2' || name === 'edge-3')).toBe(true)
  })
})
