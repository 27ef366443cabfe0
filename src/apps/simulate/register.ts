/** What an operator does before a rollout, through the public API: registers devices and declares deployments. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Api, problemOf } from '../cli/api.ts'
import { ApiError } from '../client/client.ts'
import type { Fleet, SimulatedDeployment, SimulatedDevice, SimulatedRollout } from './fleet.ts'

export interface RegisteredFleet {
  /** By reporter, for devices that were not registered before. */
  readonly tokens: Map<string, string>
  readonly rolloutIds: readonly string[]
  /** The revision before the first deployment was declared. */
  readonly revision: string
  /** The revision of the last change by the declarations. */
  readonly declaredRevision: number
  /** Devices that an earlier run left unreachable. */
  readonly unreachable: readonly string[]
}

/** In one request. */
const chunk = 1_000
const tries = 8

interface Failure {
  readonly message?: string
}

export async function registerFleet(api: Api, fleet: Fleet): Promise<RegisteredFleet> {
  const { tokens, unreachable } = await registerAll(api, fleet)
  const { revision } = await retryUnavailable(() => api.ask<{ revision: string }>('{ revision }'))
  const rolloutIds: string[] = []
  let declaredRevision = 0
  for (const rollout of fleet.rollouts) {
    const deployments = fleet.deployments.filter((deployment) => deployment.rollout === rollout)
    for (let from = 0; from < deployments.length; from += chunk) {
      const declared = await declare(api, rollout, deployments.slice(from, from + chunk))
      if (from === 0) rolloutIds.push(declared.rolloutId)
      declaredRevision = declared.revision
    }
  }
  return { tokens, rolloutIds, revision, declaredRevision, unreachable }
}

interface RegisteredData {
  readonly registerDevices: Failure & {
    readonly results?: readonly {
      readonly token: string | null
      readonly device: { readonly deviceId: string; readonly connectivity: string }
    }[]
  }
}

type Registered = Pick<SimulatedDevice, 'deviceId' | 'reporter' | 'site' | 'model'>

export async function registerAll(
  api: Api,
  { devices }: { readonly devices: readonly Registered[] },
): Promise<Pick<RegisteredFleet, 'tokens' | 'unreachable'>> {
  const tokens = new Map<string, string>()
  const unreachable: string[] = []
  const gateways = new Map(
    devices.filter(({ reporter, deviceId }) => reporter !== deviceId).map(({ reporter, site }) => [reporter, site]),
  )
  const inputs = [
    ...[...gateways].map(([deviceId, site]) => ({ deviceId, labels: labels(site, 'gateway') })),
    ...devices.map(({ deviceId, reporter, site, model }) => ({
      deviceId,
      labels: labels(site, model),
      ...(reporter === deviceId ? {} : { parent: reporter }),
    })),
  ]
  for (let from = 0; from < inputs.length; from += chunk) {
    const { registerDevices } = await retryUnavailable(() =>
      api.ask<RegisteredData>(
        `mutation Register($input: RegisterDevicesInput!) {
          registerDevices(input: $input) {
            ... on RegisterDevicesSuccess { results { token device { deviceId connectivity } } }
            ... on UserError { message }
          }
        }`,
        { input: { devices: inputs.slice(from, from + chunk) } },
      ),
    )
    for (const { token, device } of requireResult(registerDevices, registerDevices.results)) {
      if (token !== null) tokens.set(device.deviceId, token)
      if (device.connectivity === 'OFFLINE') unreachable.push(device.deviceId)
    }
  }
  return { tokens, unreachable }
}

function labels(site: string, model: string): readonly { key: string; value: string }[] {
  return [
    { key: 'site', value: site },
    { key: 'model', value: model },
  ]
}

interface DeclaredData {
  readonly declareDeployments: Failure & { readonly rollout?: { readonly id: string }; readonly revision?: string }
}

async function declare(
  api: Api,
  { name, application, version, components }: SimulatedRollout,
  deployments: readonly SimulatedDeployment[],
): Promise<{ readonly rolloutId: string; readonly revision: number }> {
  const input = {
    rollout: { name },
    deployments: deployments.map(({ deploymentId, device: { deviceId } }) => ({
      deviceId,
      deploymentId,
      application,
      applicationVersion: version,
      components,
    })),
  }
  const { declareDeployments } = await retryUnavailable(() =>
    api.ask<DeclaredData>(
      `mutation Declare($input: DeclareDeploymentsInput!) {
        declareDeployments(input: $input) {
          ... on DeclareDeploymentsSuccess { revision rollout { id } }
          ... on UserError { message }
        }
      }`,
      { input },
    ),
  )
  const { id } = requireResult(declareDeployments, declareDeployments.rollout)
  return { rolloutId: id, revision: Number(declareDeployments.revision) }
}

function requireResult<T>({ message }: Failure, result: T | undefined): T {
  if (result === undefined) throw new ApiError('UNKNOWN', message ?? 'the server gave no result')
  return result
}

/** Waits for a server that is starting. `waiting` is called once, with what the first attempt met. Throws an ApiError after 25 s. */
export async function waitForServer(api: Api, waiting: (problem: string) => void): Promise<void> {
  await retryUnavailable(() => api.ask('{ revision }'), waiting)
}

/** Retries while the server starts or is briefly unavailable. All of these requests may be repeated. */
async function retryUnavailable<T>(ask: () => Promise<T>, waiting?: (problem: string) => void): Promise<T> {
  for (let failed = 1; ; failed += 1) {
    try {
      return await ask()
    } catch (error) {
      const passes = error instanceof ApiError && ['unreachable', 'busy'].includes(problemOf(error))
      if (!passes || failed === tries) throw error
      if (failed === 1) waiting?.(error.message)
      await sleep(100 * 2 ** failed)
    }
  }
}

/** Null: the server gave none. */
export async function rotateToken(api: Api, deviceId: string): Promise<string | null> {
  const { rotateDeviceToken: result } = await api.ask<{ rotateDeviceToken: { token?: string } }>(
    `mutation Renew($input: RotateDeviceTokenInput!) {
      rotateDeviceToken(input: $input) { ... on RotateDeviceTokenSuccess { token } }
    }`,
    { input: { deviceId } },
  )
  return result.token ?? null
}
