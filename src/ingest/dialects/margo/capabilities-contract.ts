/** What the OpenAPI document says of capabilities, of each generation of the specification (docs/wire.md §1). */
import { anything, list, object, ref, type Schema, string, word } from '../contract.ts'

export const deviceId: Schema = {
  ...{ type: 'string', minLength: 1, maxLength: 256, pattern: '^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$' },
  description: 'The device, behind its gateway as in gateway/child.',
}
export const kind = (name: string): Schema => ({ type: 'string', const: name })

/** `kinds`: none since 1.0.0-rc.3. */
const formOf = (kinds: readonly string[], more: readonly string[], description: string): Schema =>
  object(
    {
      ...(kinds.length > 0 && { kind: word(kinds, 'What it describes.') }),
      properties: object({
        id: { ...deviceId, description: "The device: the path's, where that names one." },
        ...{ 'vendor?': string, 'modelNumber?': string, 'serialNumber?': string, 'roles?': list({}) },
        ...{ 'peripherals?': list({}), 'interfaces?': list({}) },
        ...Object.fromEntries(more.map((name) => [`${name}?`, hardware[name] ?? {}])),
      }),
      'labels?': { type: 'object', additionalProperties: {}, description: 'A label is a text by its name.' },
    },
    description,
  )
const hardware: Readonly<Record<string, Schema>> = {
  ...{ cpu: list({}), cpus: list({}), resources: anything('Memory, storage, processors.') },
  ...{ supportedDeploymentTypes: list({}), supportedRuntimes: list({}, { contains: { const: 'oci' } }) },
}

export const capabilities = {
  'margo-capabilities-2024': formOf(
    ['DeviceCapabilities', 'DeviceCapability'],
    ['resources'],
    'What a device can run, in the specification of 2024 and of 2025 until October: the hardware in resources.',
  ),
  'margo-capabilities-2025-10': formOf(
    ['DeviceCapabilitiesManifest'],
    ['cpu', 'memory', 'storage'],
    'Since October 2025: the hardware beside the identity.',
  ),
  'margo-capabilities-1.0': formOf(
    [],
    ['cpus', 'memory', 'storage', 'supportedDeploymentTypes', 'supportedRuntimes'],
    'Since 1.0.0-rc.3: no kind. The newer name of properties.id is targetName.',
  ),
  'margo-cluster-capabilities': object(
    {
      kind: kind('ClusterCapabilitiesManifest'),
      metadata: object({ id: { ...deviceId, description: 'The cluster.' } }),
    },
    'What a cluster behind a device can run. It is stored unchanged.',
  ),
}

const identity = { id: 'edge-1', vendor: 'Example', modelNumber: 'M1', serialNumber: '1' }
export const sendCapabilities = {
  summary: 'Send what a device can run',
  body: {
    'margo-capabilities-1.0': {
      properties: { ...identity, cpus: [{ cores: 4, architecture: 'arm64' }], supportedRuntimes: ['oci'] },
      labels: { hall: '3' },
    },
    'margo-capabilities-2025-10': {
      kind: 'DeviceCapabilitiesManifest',
      properties: { ...identity, cpu: [{ cores: 4, architecture: 'arm64' }], memory: '8 Gi' },
    },
    'margo-capabilities-2024': {
      kind: 'DeviceCapability',
      properties: { ...identity, roles: ['standalone cluster'], resources: { memory: '8 GB', cpus: [{ cores: 4 }] } },
    },
    'margo-cluster-capabilities': { kind: 'ClusterCapabilitiesManifest', metadata: { id: 'edge-1' } },
  },
  answers: {
    201: { description: 'They are stored.', schema: ref('margo-received'), example: { acknowledgement: 'received' } },
    200: { description: 'They replace earlier ones (1.0).', schema: ref('margo-received') },
  },
  problems: ['NOT_FOUND_YET'],
} as const
