/** Objects by name, ranked, and only those that the caller sees. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../../src/domain/rollout.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { reportResources } from '../../../src/ingest/commands/resources.ts'
import { stores } from '../../support/databases/stores.ts'
import { alpha, both, declare, munich, register } from '../access-scope-fleet.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

interface Result {
  readonly kind: string
  readonly name: string
  readonly match: string
}

describe.each(stores)('search on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await register(api, 'pump-1', 'munich')
    await register(api, 'hidden-pump', 'oslo')
    await declare(api, 'Pump', 'alpha', [['pump-1', 'pump']])
    await declare(api, 'hidden pumps', 'beta', [
      ['hidden-pump', 'pump'],
      ['hidden-pump', 'the_pump%'],
    ])
    const name = deploymentIntentGroup('p', 'app', 'v1', 'group') as LifecycleRolloutName
    const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }
    await api.road.writer.submit(
      recordActions(
        name,
        [
          { ...fact, state: 'CREATED' },
          { ...fact, state: 'APPROVED' },
          { ...fact, state: 'INSTANTIATED', instanceId: '700' },
        ],
        'an operator',
      ),
    )
    const target = { kind: 'CLUSTER', provider: 'p', name: 'pump-cluster' } as const
    const object = {
      group: '',
      version: 'v1',
      kind: 'Pod',
      namespace: null,
      component: 'web',
      sync: 'APPLIED' as const,
    }
    await api.road.writer.submit(
      reportResources(name, '700', [{ ...object, target, name: 'big-pump', showable: true }]),
    )
  })
  afterAll(() => api.close())

  const search = async (text: string, more = '', as?: string): Promise<Result[]> =>
    (await api.ask(`query ($text: String!) { search(text: $text ${more}) { kind name match } }`, { text }, as)).search
  const shown = (found: readonly Result[]) => found.map(({ match, kind, name }) => `${match} ${kind} ${name}`)

  it('ranks exact matches, then beginnings, then parts, without case', async () => {
    expect(shown(await search(' PUMP '))).toEqual([
      'EXACT ROLLOUT Pump',
      'EXACT DEPLOYMENT pump',
      'EXACT DEPLOYMENT pump',
      'PREFIX DEVICE pump-1',
      'PREFIX CLUSTER pump-cluster',
      'PART ROLLOUT hidden pumps',
      'PART DEVICE hidden-pump',
      'PART DEPLOYMENT the_pump%',
      'PART RESOURCE big-pump',
    ])
    expect(shown(await search('pump', 'first: 2'))).toEqual(['EXACT ROLLOUT Pump', 'EXACT DEPLOYMENT pump'])
    expect(shown(await search('pump', 'kinds: [RESOURCE, CLUSTER]'))).toEqual([
      'PREFIX CLUSTER pump-cluster',
      'PART RESOURCE big-pump',
    ])
    expect(await search('_pump%', 'kinds: [DEPLOYMENT]')).toHaveLength(1)
    expect(await search('p_mp')).toEqual([])
    expect(await search('\u0000')).toEqual([])
  })

  it('has the objects, with a statement for each kind, for what is older, and for the objects of each kind', async () => {
    api.statements()
    const { search: found } = await api.ask(`{ search(text: "pump") { match node { __typename id
      ... on Deployment { state } ... on Device { deviceId } ... on Cluster { name } ... on Rollout { project } ... on Resource { sync } } } }`)
    expect(api.statements()).toBe(12)
    expect(found.map(({ node }: { node: { __typename: string } }) => node.__typename)).toEqual([
      ...['Rollout', 'Deployment', 'Deployment', 'Device', 'Cluster', 'Rollout', 'Device', 'Deployment', 'Resource'],
    ])
  })

  it.each([munich, alpha, both])('reveals nothing outside the access scope of %s', async (who) => {
    expect(shown(await search('pump', '', who))).toEqual([
      'EXACT ROLLOUT Pump',
      'EXACT DEPLOYMENT pump',
      'PREFIX DEVICE pump-1',
    ])
    expect(await search('hidden', '', who)).toEqual([])
  })

  it('does not find what was forgotten', async () => {
    await api.report({ reporter: 'pump-1', deploymentId: 'short-lived' })
    const { deployment } = await api.ask('{ deployment(deploymentId: "short-lived") { id } }')
    expect(await search('SHORT')).toHaveLength(2)
    const [, key] = Buffer.from(deployment.id, 'base64url').toString().split(':')
    await api.road.writer.submit(forgetDeployments([Number(key)]))
    expect(await search('SHORT')).toEqual([])
  })

  it.each([
    ['', ''],
    ['   ', ''],
    ['x'.repeat(201), ''],
    ['x', 'first: 0'],
    ['x', 'first: 101'],
  ])('refuses %j %s', async (text, more) => {
    const { errors } = await api.query(`query ($text: String!) { search(text: $text ${more}) { name } }`, { text })
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  })
})
