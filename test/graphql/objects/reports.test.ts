/** Retained reports as nodes: with their deployment and what they contained, and those of the whole fleet. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { declare, munich, register } from '../access-scope-fleet.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const stale = 'reports(first: 10, filter: { verdicts: [STALE] })'

describe.each(stores)('reports on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await register(api, 'm-1', 'munich')
    await register(api, 'hidden-1', 'oslo')
    const web = (state: 'INSTALLING' | 'INSTALLED' | 'FAILED', code: string | null = null) =>
      ({ name: 'web', state, error: code === null ? null : { code, message: 'no' } }) as const
    const pump = { reporter: 'm-1', deploymentId: 'pump' }
    await api.report({ ...pump, seq: '1', state: 'INSTALLING', components: [web('INSTALLING')] })
    const error = { code: 'E1', message: 'out of disk' }
    const db = { name: 'db', state: 'FAILED', error: null } as const
    await api.report({ ...pump, seq: '5', state: 'FAILED', error, components: [web('FAILED', 'E2'), db] })
    await api.report({
      ...pump,
      seq: '6',
      state: 'INSTALLED',
      adoptedManifestVersion: '7',
      components: [web('INSTALLED')],
    })
    await api.report({ ...pump, seq: '2', state: 'FAILED', adoptedManifestVersion: '3', error, components: [db] })
    await api.report({ reporter: 'hidden-1', deploymentId: 'pump', seq: '9', state: 'INSTALLED' })
    await api.report({ reporter: 'hidden-1', deploymentId: 'pump', seq: '8', state: 'FAILED' })
  })
  afterAll(() => api.close())

  it('contain what was reported', async () => {
    const { deployment } = await api.ask(`{ deployment(deploymentId: "pump", deviceId: "m-1") { reports { nodes {
      verdict adoptedManifestVersion error { code } components { name state error { code } } deployment { deploymentId device { deviceId } } } } } }`)
    const of = { deployment: { deploymentId: 'pump', device: { deviceId: 'm-1' } } }
    const component = (name: string, state: string, code: string | null = null) => ({
      name,
      state,
      error: code === null ? null : { code },
    })
    expect(deployment.reports.nodes).toEqual([
      {
        ...{ verdict: 'APPLIED', adoptedManifestVersion: null, error: null, ...of },
        components: [component('web', 'INSTALLING')],
      },
      {
        ...{ verdict: 'APPLIED', adoptedManifestVersion: null, error: { code: 'E1' }, ...of },
        components: [component('web', 'FAILED', 'E2'), component('db', 'FAILED')],
      },
      {
        ...{ verdict: 'APPLIED', adoptedManifestVersion: '7', error: null, ...of },
        components: [component('web', 'INSTALLED')],
      },
      {
        ...{ verdict: 'STALE', adoptedManifestVersion: '3', error: { code: 'E1' }, ...of },
        components: [component('db', 'FAILED')],
      },
    ])
  })

  it('of the fleet are found by verdict and by deployment ID, newest first, page by page', async () => {
    const all = await api.ask(
      `{ ${stale} { totalCount nodes { verdict sequence deployment { device { deviceId } } } } }`,
    )
    expect(all.reports).toEqual({
      totalCount: 2,
      nodes: [
        { verdict: 'STALE', sequence: '8', deployment: { device: { deviceId: 'hidden-1' } } },
        { verdict: 'STALE', sequence: '2', deployment: { device: { deviceId: 'm-1' } } },
      ],
    })
    const page =
      'query ($after: String) { reports(first: 4, after: $after, filter: { deploymentIds: ["pump"] }) { totalCount nodes { sequence } pageInfo { endCursor hasNextPage hasPreviousPage } } }'
    const first = await api.ask(page)
    const second = await api.ask(page, { after: first.reports.pageInfo.endCursor })
    const sequences = [...first.reports.nodes, ...second.reports.nodes].map(({ sequence }) => sequence)
    expect(sequences).toEqual(['8', '9', '2', '6', '5', '1'])
    expect(first.reports).toMatchObject({ totalCount: 6, pageInfo: { hasNextPage: true, hasPreviousPage: false } })
    expect(second.reports.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
    const { reports } = await api.ask(
      `{ reports(filter: { deploymentIds: ["pump"], verdicts: [APPLIED] }) { totalCount } }`,
    )
    expect(reports.totalCount).toBe(4)
    expect((await api.ask('{ reports(filter: { verdicts: [] }) { totalCount nodes { id } } }')).reports).toEqual({
      totalCount: 0,
      nodes: [],
    })
  })

  it.each(['{}', '{ verdicts: [APPLIED] }', '{ verdicts: [STALE, APPLIED] }'])(
    'that no index has are refused: %s',
    async (filter) => {
      const { errors } = await api.query(`{ reports(filter: ${filter}) { totalCount } }`)
      expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
    },
  )

  it('are nodes', async () => {
    const { reports } = await api.ask(`{ ${stale} { nodes { id } } }`)
    const ids = reports.nodes.map(({ id }: { id: string }) => id)
    const ask = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Report { sequence } } }'
    expect((await api.ask(ask, { ids })).nodes).toEqual([
      { id: ids[0], sequence: '8' },
      { id: ids[1], sequence: '2' },
    ])
    expect((await api.ask(ask, { ids }, munich)).nodes).toEqual([null, { id: ids[1], sequence: '2' }])
    const odd = ['Report:1:x', 'Report:1', 'Report:1@2:3'].map((text) => Buffer.from(text).toString('base64url'))
    expect((await api.ask(ask, { ids: odd })).nodes).toEqual([null, null, null])
  })

  it('reveal nothing outside the access scope', async () => {
    const fields = 'totalCount nodes { sequence error { code } components { name } deployment { device { deviceId } } }'
    const own = await api.ask(`{ ${stale} { ${fields} } }`, {}, munich)
    expect(own.reports).toMatchObject({ totalCount: 1, nodes: [{ sequence: '2' }] })
    await declare(api, 'other', 'beta', [['hidden-1', 'moved']])
    await api.report({ reporter: 'gw', deviceId: 'm-1', deploymentId: 'roamer', seq: '4', state: 'INSTALLED' })
    await api.report({ reporter: 'gw', deviceId: 'm-1', deploymentId: 'roamer', seq: '3', state: 'FAILED' })
    await api.report({ reporter: 'gw', deviceId: 'hidden-1', deploymentId: 'roamer', seq: '5', state: 'INSTALLED' })
    const left = await api.ask(`{ reports(filter: { deploymentIds: ["roamer"] }) { ${fields} } }`, {}, munich)
    expect(left.reports).toEqual({
      totalCount: 2,
      nodes: [
        { sequence: '3', error: null, components: [], deployment: null },
        { sequence: '4', error: null, components: [], deployment: null },
      ],
    })
  })

  it('cost one statement for each kind of content, for any number', async () => {
    api.statements()
    await api.ask(`{ ${stale} { nodes { error { code } components { name } deployment { state } } } }`)
    expect(api.statements()).toBe(5)
    await api.ask(
      `{ reports(first: 10, filter: { deploymentIds: ["pump"] }) { nodes { error { code } components { name } deployment { state } } } }`,
    )
    expect(api.statements()).toBe(5)
  })
})
