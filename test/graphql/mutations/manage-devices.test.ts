import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashDeviceToken } from '../../../src/ingest/device-token.ts'
import { stores } from '../../support/databases/stores.ts'
import { type Api, startApi } from '../harness.ts'

const problem = '... on UserError { message path } ... on InvalidInput { problems { path message } }'

const register = `mutation ($input: RegisterDevicesInput!) { result: registerDevices(input: $input) {
  __typename ${problem}
  ... on RegisterDevicesSuccess { results { token device { deviceId name registered expectedInterval labels { key value } parent { deviceId } } } }
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

describe.each(stores)('mutations of devices on $name', (store) => {
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
      expect(await run(rotate, { deviceId: 'unknown' })).toMatchObject({ __typename: 'NotFound', path: ['deviceId'] })
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
      expect(await run(revoke, { deviceId: 'unknown' })).toMatchObject({ __typename: 'NotFound', path: ['deviceId'] })
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
      expect(await run(reset, { reporter: 'unknown' })).toMatchObject({ __typename: 'NotFound', path: ['reporter'] })
      expect(await run(reset, { reporter: '' })).toMatchObject({ __typename: 'InvalidInput', path: ['reporter'] })
    })
  })

  it('leave no snapshot open', () => {
    expect(api.openSnapshots()).toBe(0)
  })
})
