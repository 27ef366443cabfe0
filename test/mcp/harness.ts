/** A fleet with a known fault, and assistants that ask about it over each transport, in both eras of the protocol. */
import type { ClientOptions } from '@modelcontextprotocol/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { RunningApp } from '../support/servers/app.ts'
import { builtProgram, childEnvironment } from '../support/servers/child.ts'

const eras: Readonly<Record<string, ClientOptions>> = {
  '2026-07-28': { versionNegotiation: { mode: 'auto' } },
  '2025-11-25': { versionNegotiation: { mode: 'legacy' } },
}

export interface Way {
  readonly over: 'HTTP' | 'stdio'
  readonly era: string
}

export const http: Way = { over: 'HTTP', era: '2026-07-28' }
/** The last ones are of both transports and both eras. */
export const ways: readonly Way[] = [
  { over: 'HTTP', era: '2025-11-25' },
  { over: 'stdio', era: '2026-07-28' },
  http,
  { over: 'stdio', era: '2025-11-25' },
]

export async function connect(
  { url }: Pick<RunningApp, 'url'>,
  { over, era }: Way = http,
  token?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Client> {
  const client = new Client({ name: 'a test', version: '1' }, eras[era])
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  await client.connect(
    over === 'HTTP'
      ? new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
      : new StdioClientTransport({
          command: process.execPath,
          args: [builtProgram('src/apps/cli/rollcall.ts'), 'mcp', '--url', url],
          env: { ...childEnvironment(), ...(token !== undefined && { ROLLCALL_TOKEN: token }), ...env },
        }),
  )
  return client
}

export interface Called {
  readonly isError: boolean
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly facts: any
  /** As it was sent. */
  readonly bytes: number
}

export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  options = {},
): Promise<Called> {
  const {
    content,
    structuredContent: facts,
    isError = false,
  } = await client.callTool({ name, arguments: args }, options)
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return { isError, text, facts, bytes: Buffer.byteLength(JSON.stringify({ content, structuredContent: facts })) }
}

/**
 * 24 devices of three sites, one of which is offline. A rollout that went well, then one that fails at the site munich, has a deployment that stalls, and
 * has not begun on two devices.
 */
export async function makeFleet(server: RunningApp): Promise<void> {
  const sites = ['munich', 'lyon', 'turin']
  const stalling = 'edge-19'
  const devices = Array.from({ length: 24 }, (_, index) => ({
    deviceId: `edge-${index}`,
    site: sites[index % 3] ?? '',
  }))
  await server.query(
    'mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) { __typename } }',
    {
      devices: devices.map(({ deviceId, site }) => ({
        ...{ deviceId, name: `Pump of ${deviceId}`, labels: [{ key: 'site', value: site }] },
      })),
    },
  )
  await server.query(
    'mutation { saveAlertRule(input: { name: "too many", metric: FAILED, threshold: 3, severity: CRITICAL }) { __typename } }',
  )
  for (const [version, failing] of [
    ['1', ''],
    ['2', 'munich'],
  ] as const) {
    await declare(
      server,
      `pumps-${version}`,
      devices.map(({ deviceId }) => ({
        deviceId,
        deploymentId: `pump-${version}-of-${deviceId}`,
        application: 'pump',
        applicationVersion: version,
      })),
    )
    for (const state of ['installing', 'installed'] as const)
      for (const { deviceId, site } of devices.slice(0, version === '1' ? 24 : 22)) {
        if (version === '2' && state === 'installed' && deviceId === stalling) continue
        const isFailing = site === failing && state === 'installed'
        await report(
          server,
          deviceId,
          `pump-${version}-of-${deviceId}`,
          isFailing ? 'failed' : state,
          isFailing ? { code: '507', message: 'disk full on /dev/sda1' } : undefined,
        )
      }
  }
  await server.query(
    'mutation { reportConnectivity(input: { cluster: "p+pumps-line", connectivity: ONLINE }) { __typename } }',
  )
  // A gateway that does not reach the device behind it.
  const error = { code: '102', message: 'Child device unreachable', source: 'edge-11' }
  await server.post('/device/gateway-1/deployment/valve/status', {
    ...{ deploymentId: 'valve', deviceId: 'edge-11', status: { state: 'installing', error }, components: [] },
  })
}

export async function declare(
  server: RunningApp,
  name: string,
  deployments: readonly object[],
  project: string | null = null,
): Promise<void> {
  await server.query(
    'mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }',
    {
      input: { rollout: { name, project }, deployments },
    },
  )
}

export async function report(
  server: RunningApp,
  deviceId: string,
  deploymentId: string,
  state: string,
  error?: object,
  component = 'motor',
): Promise<void> {
  const status = { state, ...(error && { error }) }
  const answer = await server.post(
    `/device/${encodeURIComponent(deviceId)}/deployment/${encodeURIComponent(deploymentId)}/status`,
    {
      deploymentId,
      status,
      components: [{ name: component, ...status }],
    },
  )
  if (answer.status >= 300) throw new Error(`the report was refused: ${await answer.text()}`)
}
