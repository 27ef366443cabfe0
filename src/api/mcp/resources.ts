/** What an assistant can read: a rollout, a device, the schema of the API, and the pages of the documentation. */
import {
  type McpServer,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import type { Asking } from './asking.ts'
import { resources as documents } from './documents.ts'
import { type Counts, labelsOf } from './shapes.ts'
import { markId } from './untrusted.ts'

export interface Sources {
  /** The schema of the API, in GraphQL's schema definition language. Null: callers may not read it. */
  readonly readSchema: (() => Promise<string>) | null
  /** The pages of the documentation, by their names. */
  readonly readPages: () => Promise<ReadonlyMap<string, string>>
}

interface RolloutData {
  readonly revision: string
  readonly rollout: { readonly name: string; readonly counts: Counts } | null
}

interface DeviceData {
  readonly revision: string
  readonly device: {
    readonly deviceId: string
    readonly labels: readonly { readonly key: string; readonly value: string }[]
    readonly counts: Counts
  } | null
}

const textOf = (uri: URL, mimeType: string, text: string): ReadResourceResult => ({
  contents: [{ uri: uri.href, mimeType, text }],
})
const jsonOf = (uri: URL, value: object): ReadResourceResult => textOf(uri, 'application/json', JSON.stringify(value))

/** A variable of an address, which is still encoded. */
const given = (value: string | string[] | undefined): string => decodeURIComponent([value ?? ''].flat()[0] ?? '')

export function registerResources(server: McpServer, { ask }: Asking, { readSchema, readPages }: Sources): void {
  server.registerResource(
    'rollout',
    new ResourceTemplate('rollcall://rollout/{id}', { list: undefined }),
    {
      title: 'A rollout',
      description: 'Its state and its counts, by the ID that the tools give.',
      mimeType: 'application/json',
    },
    async (uri, { id }) => {
      const { revision, rollout } = await ask<RolloutData>(documents.rollout, { id: given(id) })
      if (!rollout) throw new ResourceNotFoundError(uri.href)
      return jsonOf(uri, { revision, ...rollout, name: markId(rollout.name) })
    },
  )
  server.registerResource(
    'device',
    new ResourceTemplate('rollcall://device/{deviceId}', { list: undefined }),
    {
      title: 'A device',
      description: 'Whether it is heard, its labels, and the counts of what runs on it.',
      mimeType: 'application/json',
    },
    async (uri, { deviceId }) => {
      const { revision, device } = await ask<DeviceData>(documents.device, { deviceId: given(deviceId) })
      if (!device) throw new ResourceNotFoundError(uri.href)
      return jsonOf(uri, { revision, ...device, deviceId: markId(device.deviceId), labels: labelsOf(device.labels) })
    },
  )
  if (readSchema !== null)
    server.registerResource(
      'schema',
      'rollcall://schema',
      {
        title: 'The schema',
        description: 'All types of the GraphQL API, with their descriptions.',
        mimeType: 'text/plain',
      },
      async (uri) => textOf(uri, 'text/plain', await readSchema()),
    )
  server.registerResource(
    'documentation',
    new ResourceTemplate('rollcall://docs/{page}', {
      list: async () => ({
        resources: [...(await readPages())].map(([name, text]) => ({
          ...{
            uri: `rollcall://docs/${name}`,
            name,
            mimeType: 'text/markdown',
            title: /^# (.+)$/m.exec(text)?.[1] ?? name,
          },
        })),
      }),
    }),
    { title: 'The documentation', description: 'A page of the documentation.', mimeType: 'text/markdown' },
    async (uri, { page }) => {
      const text = (await readPages()).get(given(page))
      if (text === undefined) throw new ResourceNotFoundError(uri.href)
      return textOf(uri, 'text/markdown', text)
    },
  )
}
