import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashDeviceToken } from '../../src/ingest/device-token.ts'
import { stores } from '../support/stores.ts'
import { type Api, startApi } from './harness.ts'

const problem = '... on UserError { message path } ... on InvalidInput { problems { path message } }'

const register = `mutation ($input: RegisterDevicesInput!) { result: registerDevices(input: $input) {
  __typename ${problem}
  ... on RegisterDevicesSuccess { results { token device { deviceId name registered expectedInterval labels { key value } parent { deviceId } } } }
} }`
const declare = `mutation ($input: DeclareDeploymentsInput!) { result: declareDeployments(input: $input) {
  __typename ${problem}
  ... on DeclareDeploymentsSuccess { revision rollout { name project deploymentCounts { total pending } } deployments { id deploymentId state application components { name state } } }
} }`
const forget = `mutation ($input: ForgetDeploymentsInput!) { result: forgetDeployments(input: $input) {
  __typename ${problem}
  ... on ForgetDeploymentsSuccess { revision deployments { id deploymentId forgottenAt } }
} }`
const rotate = `mutation ($input: RotateDeviceTokenInput!) { result: rotateDeviceToken(input: $input) {
  __typename ${problem} ... on RotateDeviceTokenSuccess { token device { deviceId } }
} }`
const revoke = `mutation ($input: RevokeDeviceInput!) { result: revokeDevice(input: $input) {
  __typename ${problem} ... on RevokeDeviceSuccess { device { deviceId revokedAt } }
} }`
const reset = `mutation ($input: ResetReporterOrderInput!) { result: resetReporterOrder(input: $input) {
  __typename ${problem} ... on ResetReporterOrderSuccess { deployments device { deviceId } }
} }`

describe.each(stores)('mutations on $name', (store) => {
  let api: Api

  beforeAll(async () => {
    api = await startApi({ store })
  })
  afterAll(() => api.close())

  const run = async (mutation: string, input: object) => (await api.ask(mutation, { input })).result
  const tokensOf = (deviceId: string) =>
    api.road.database.session.run<{ hash: string; expires: number | null }>(
      `select hash, expires_at as expires from device_tokens join targets on targets.key = target_key where name = $1 order by issued_at`,
      [deviceId],
    )

  describe('registerDevices', () => {
    it('shows each token once, and stores only its hash', async () => {
      const input = {
        devices: [
          { deviceId: 'press-4', name: 'Press 4', labels: [{ key: 'site', value: 'munich' }], expectedInterval: 30 },
          { deviceId: 'gw/child' },
        ],
      }
      const first = await run(register, input)
      expect(first).toMatchObject({
        __typename: 'RegisterDevicesSuccess',
        results: [
          {
            device: {
              deviceId: 'press-4',
              name: 'Press 4',
              registered: true,
              expectedInterval: 30,
              labels: [{ key: 'site', value: 'munich' }],
              parent: null,
            },
          },
          { device: { deviceId: 'gw/child', name: 'gw/child', parent: { deviceId: 'gw' } } },
        ],
      })
      const [{ token }, { token: other }] = first.results
      expect(token).toMatch(/^rollcall_[\w-]{43}$/)
      expect(other).not.toBe(token)
      expect(await tokensOf('press-4')).toEqual([{ hash: hashDeviceToken(token), expires: null }])

      const again = await run(register, { devices: [{ deviceId: 'press-4', labels: [] }] })
      expect(again.results).toEqual([{ token: null, device: { ...first.results[0].device, labels: [] } }])
      expect(await tokensOf('press-4')).toHaveLength(1)
    })

    it.each(['\ufeff', '\ufeffpress', ' press', 'press ', '\n', 'pr\ness'])('refuses the id %j', async (deviceId) => {
      const result = await run(register, { devices: [{ deviceId }, { deviceId: 'behind', parent: deviceId }] })
      expect(result.problems.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
        'devices.0.deviceId',
        'devices.1.parent',
      ])
    })

    it('refuses a cycle of gateways as a conflict, and registers no device of the list', async () => {
      const result = await run(register, {
        devices: [
          { deviceId: 'a', parent: 'b' },
          { deviceId: 'b', parent: 'a' },
        ],
      })
      expect(result).toMatchObject({ __typename: 'Conflict', path: ['devices', expect.any(String), 'parent'] })
      expect(await api.ask('{ device(deviceId: "a") { id } }')).toEqual({ device: null })
    })

    it('reports every problem with its path', async () => {
      const result = await run(register, {
        devices: [
          { deviceId: '', name: '', parent: 'x'.repeat(257), expectedInterval: 0 },
          {
            deviceId: 'nul\0',
            labels: [
              { key: '', value: 'v' },
              { key: 'k', value: '\ud800' },
              { key: 'k', value: '' },
            ],
          },
          { deviceId: 'twice' },
          { deviceId: 'twice' },
          { deviceId: '💥'.repeat(256) },
        ],
      })
      expect(result.__typename).toBe('InvalidInput')
      expect(result.problems.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
        'devices.0.deviceId',
        'devices.0.name',
        'devices.0.parent',
        'devices.0.expectedInterval',
        'devices.1.deviceId',
        'devices.1.labels.0.key',
        'devices.1.labels.1.value',
        'devices.1.labels.2.key',
        'devices.3.deviceId',
      ])
      expect(result.path).toEqual(['devices', '0', 'deviceId'])
      expect(result.message).toBe('devices[0].deviceId must not be empty (and 8 more)')
    })

    it('accepts 10,000 devices and refuses 10,001', async () => {
      const devices = Array.from({ length: 10_001 }, (_, i) => ({ deviceId: `many-${i}` }))
      const tooMany = await run(register, { devices })
      expect(tooMany).toMatchObject({ __typename: 'InvalidInput', path: ['devices'] })
      const { results } = await run(register, { devices: devices.slice(1) })
      expect(results).toHaveLength(10_000)
    })
  })

  describe('declareDeployments', () => {
    it('shows what is declared as PENDING, in its rollout', async () => {
      const result = await run(declare, {
        rollout: { name: 'spring', project: 'fleet' },
        deployments: [
          {
            deviceId: 'edge-1',
            deploymentId: 'd-1',
            application: 'nginx',
            applicationVersion: '1.2',
            components: ['web', 'db'],
          },
          { deviceId: 'edge-2', deploymentId: 'd-2' },
        ],
      })
      expect(result).toMatchObject({
        __typename: 'DeclareDeploymentsSuccess',
        rollout: { name: 'spring', project: 'fleet', deploymentCounts: { total: 2, pending: 2 } },
        deployments: [
          {
            deploymentId: 'd-1',
            state: 'PENDING',
            application: 'nginx',
            components: [
              { name: 'web', state: 'PENDING' },
              { name: 'db', state: 'PENDING' },
            ],
          },
          { deploymentId: 'd-2', state: 'PENDING', application: null, components: [] },
        ],
      })
      expect(await api.ask('{ revision }')).toEqual({ revision: result.revision })
    })

    it('needs no rollout', async () => {
      const result = await run(declare, { deployments: [{ deviceId: 'edge-3', deploymentId: 'd-3' }] })
      expect(result).toMatchObject({
        __typename: 'DeclareDeploymentsSuccess',
        rollout: null,
        deployments: [{ deploymentId: 'd-3' }],
      })
    })

    it('reports every problem with its path', async () => {
      const bad = { deviceId: 'x'.repeat(257), deploymentId: '', application: '', components: ['a', 'a', ''] }
      const result = await run(declare, { rollout: { name: '' }, deployments: [bad, bad] })
      expect(result.problems.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
        'rollout.name',
        ...[0, 1].flatMap((i) =>
          ['deviceId', 'deploymentId', 'application', 'components.2', 'components.1'].map(
            (field) => `deployments.${i}.${field}`,
          ),
        ),
        'deployments.1',
      ])
      expect(await run(declare, { deployments: [] })).toMatchObject({
        __typename: 'InvalidInput',
        path: ['deployments'],
      })
    })
  })

  describe('forgetDeployments', () => {
    it('removes deployments from lists and counts; their IDs still resolve', async () => {
      await api.report({ deploymentId: 'gone', reporter: 'edge-9' })
      const { deployment } = await api.ask('{ deployment(deploymentId: "gone") { id } }')
      const result = await run(forget, { ids: [deployment.id] })
      expect(result).toMatchObject({
        __typename: 'ForgetDeploymentsSuccess',
        deployments: [{ id: deployment.id, forgottenAt: expect.any(String) }],
      })
      expect(
        await api.ask(
          `query ($id: ID!) {
          node(id: $id) { ... on Deployment { deploymentId } }
          deployment(deploymentId: "gone") { id }
          deployments(filter: { reporters: ["edge-9"] }) { totalCount }
          changes(filter: { deploymentIds: ["gone"] }, last: 1) { nodes { __typename ... on DeploymentForgotten { deployment { id forgottenAt } } } }
        }`,
          { id: deployment.id },
        ),
      ).toEqual({
        node: { deploymentId: 'gone' },
        deployment: null,
        deployments: { totalCount: 0 },
        changes: {
          nodes: [
            {
              __typename: 'DeploymentForgotten',
              deployment: { id: deployment.id, forgottenAt: result.deployments[0].forgottenAt },
            },
          ],
        },
      })
    })

    it('forgets none if an ID is not a deployment, and reports which', async () => {
      await api.report({ deploymentId: 'kept', reporter: 'edge-9' })
      const { deployment, device } = await api.ask(
        '{ deployment(deploymentId: "kept") { id } device(deviceId: "edge-9") { id } }',
      )
      for (const bad of ['garbage', device.id])
        expect(await run(forget, { ids: [deployment.id, bad] })).toMatchObject({
          __typename: 'NotFound',
          path: ['ids', '1'],
        })
      expect((await api.ask('{ deployment(deploymentId: "kept") { forgottenAt } }')).deployment.forgottenAt).toBeNull()
    })
  })

  describe('a device’s credentials and order', () => {
    it('rotateDeviceToken returns a new token, and the old one stays valid for a while', async () => {
      const { results } = await run(register, { devices: [{ deviceId: 'turns' }] })
      const { token } = await run(rotate, { deviceId: 'turns', overlap: 60 })
      const [old, fresh] = await tokensOf('turns')
      expect(old).toMatchObject({ hash: hashDeviceToken(results[0].token), expires: expect.any(Number) })
      expect(fresh).toEqual({ hash: hashDeviceToken(token), expires: null })
      expect(await run(rotate, { deviceId: 'turns', overlap: -1 })).toMatchObject({
        __typename: 'InvalidInput',
        path: ['overlap'],
      })
      expect(await run(rotate, { deviceId: 'nobody' })).toMatchObject({ __typename: 'NotFound' })
    })

    it('revokeDevice ends its tokens, and a new registration does not restore them', async () => {
      await run(register, { devices: [{ deviceId: 'lost' }] })
      const result = await run(revoke, { deviceId: 'lost' })
      expect(result).toEqual({
        __typename: 'RevokeDeviceSuccess',
        device: { deviceId: 'lost', revokedAt: expect.any(String) },
      })
      await expect(api.report({ reporter: 'lost' })).rejects.toThrow(/revoked/)
      const { results } = await run(register, { devices: [{ deviceId: 'lost' }] })
      expect(await tokensOf('lost')).toMatchObject([{ hash: hashDeviceToken(results[0].token) }])
      expect(await run(revoke, { deviceId: 'nobody' })).toMatchObject({ __typename: 'NotFound' })
    })

    it('resetReporterOrder lets an older report apply', async () => {
      await api.report({ reporter: 'counts', deploymentId: 'c-1', state: 'INSTALLED', seq: '9', boot: 'b' })
      const late = { reporter: 'counts', deploymentId: 'c-1', state: 'FAILED', seq: '1', boot: 'b' } as const
      expect(await api.report(late)).toMatchObject({ verdict: 'STALE', staleBy: 'seq' })
      expect(await run(reset, { reporter: 'counts' })).toEqual({
        __typename: 'ResetReporterOrderSuccess',
        deployments: 1,
        device: { deviceId: 'counts' },
      })
      expect(await api.report(late)).toMatchObject({ verdict: 'APPLIED' })
      expect(await run(reset, { reporter: 'nobody' })).toMatchObject({ __typename: 'NotFound' })
      expect(await run(reset, { reporter: '' })).toMatchObject({ __typename: 'InvalidInput', path: ['reporter'] })
    })
  })

  it('see the writes of earlier mutations in the same operation', async () => {
    const answer = await api.ask(`mutation {
      a: declareDeployments(input: { rollout: { name: "steps" }, deployments: [{ deviceId: "s", deploymentId: "s-1" }] }) { ... on DeclareDeploymentsSuccess { rollout { deploymentCounts { total } } } }
      b: declareDeployments(input: { rollout: { name: "steps" }, deployments: [{ deviceId: "s", deploymentId: "s-2" }] }) { ... on DeclareDeploymentsSuccess { rollout { deploymentCounts { total } } } }
    }`)
    expect(answer).toEqual({
      a: { rollout: { deploymentCounts: { total: 1 } } },
      b: { rollout: { deploymentCounts: { total: 2 } } },
    })
  })

  it('leave no snapshot open', () => {
    expect(api.openSnapshots()).toBe(0)
  })
})
