import type { RunningApp } from '../../support/servers/app.ts'

export const properties = { id: 'press.hall-1', vendor: 'Presses', modelNumber: 'P-1', serialNumber: '0007' }
export const old = {
  apiVersion: 'device.margo/v1',
  kind: 'DeviceCapability',
  properties: { ...properties, roles: ['standalone cluster'], resources: { memory: '64.0 GB', cpus: [{ cores: 24 }] } },
}
export const middle = (id: string) => ({
  apiVersion: 'device.margo.org/v1alpha1',
  kind: 'DeviceCapabilitiesManifest',
  properties: { ...properties, id, cpu: [{ cores: 4, architecture: 'arm64' }], memory: '8 Gi', otelCollector: true },
})
export const today = (id: string) => ({
  properties: { ...properties, id, cpus: [{ cores: 0.5 }], supportedDeploymentTypes: ['compose'] },
  labels: { 'example.com/site': 'north' },
  'x-presses-extensions': { pressure: 12345678901234567890n.toString() },
})

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it asked for.
  readonly body: any
}
export const requestsTo =
  (app: () => RunningApp) =>
  async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await fetch(`${app().url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text && JSON.parse(text) }
  }

export const profileOf = async (app: RunningApp, deviceId: string) => {
  const query = `query ($id: String!) { device(deviceId: $id) { registered onboardedAt
    capabilities { reportedAt generation vendor modelNumber serialNumber document } } }`
  return (await app.query(query, { id: deviceId })).device
}
