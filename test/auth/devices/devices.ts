/** Devices that prove who they are, as the tests of each kind of credential need them. */
import { expect } from 'vitest'
import type { RunningApp } from '../../support/servers/app.ts'

export const statusOf = (reporter: string, deploymentId = 'pump') =>
  `/device/${encodeURIComponent(reporter)}/deployment/${deploymentId}/status`

export const bodyOf = (deploymentId = 'pump', more: object = {}) => ({
  deploymentId,
  status: { state: 'installed' },
  components: [],
  ...more,
})

export interface Registration {
  readonly deviceId: string
  readonly parent?: string
  readonly publicKeys?: readonly string[]
  readonly spiffeIds?: readonly string[]
}

const register = `mutation ($input: RegisterDevicesInput!) { registerDevices(input: $input) {
  ... on RegisterDevicesSuccess { results { token } } ... on UserError { message }
} }`

/** Their tokens, in their order. */
export async function registerAll(app: RunningApp, devices: readonly Registration[]): Promise<string[]> {
  const { registerDevices } = await app.query(register, { input: { devices } })
  expect(registerDevices.message).toBeUndefined()
  return registerDevices.results.map(({ token }: { token: string }) => token)
}

export async function rotate(app: RunningApp, deviceId: string, overlap: number): Promise<string> {
  const mutation = `mutation ($input: RotateDeviceTokenInput!) { rotateDeviceToken(input: $input) {
    ... on RotateDeviceTokenSuccess { token } } }`
  return (await app.query(mutation, { input: { deviceId, overlap } })).rotateDeviceToken.token
}

export async function revoke(app: RunningApp, deviceId: string): Promise<void> {
  const mutation = `mutation ($input: RevokeDeviceInput!) { revokeDevice(input: $input) { __typename } }`
  const { revokeDevice } = await app.query(mutation, { input: { deviceId } })
  expect(revokeDevice.__typename).toBe('RevokeDeviceSuccess')
}

export async function lastHeard(app: RunningApp, deviceId: string): Promise<string | null> {
  const { device } = await app.query('query ($id: String!) { device(deviceId: $id) { lastHeardAt } }', { id: deviceId })
  return device?.lastHeardAt ?? null
}

/** How many credentials were refused, as the metrics say. */
export async function refusals(app: RunningApp, method: string, reason: string): Promise<number> {
  const text = await app.app.metrics.print()
  const name = 'rollcall_device_credentials_refused_total'
  const line = text.split('\n').find((row) => row.startsWith(`${name}{method="${method}",reason="${reason}"}`))
  return Number(line?.split(' ').at(-1) ?? 0)
}
