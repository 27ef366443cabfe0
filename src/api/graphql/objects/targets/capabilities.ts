/** The capabilities that a device reported. */
import { bytesOf, type Cpu, type Hardware, readHardware } from '../../../../ingest/dialects/margo/hardware.ts'
import type { DeviceProfile } from '../../../../store/read/targets/profiles.ts'
import { builder } from '../../builder.ts'

type Capabilities = NonNullable<DeviceProfile['capabilities']>

/** Validated on receipt. Devices of all generations have `properties`; clusters do not. */
interface Document {
  readonly kind?: string | null
  readonly properties?: { readonly vendor: string; readonly modelNumber: string; readonly serialNumber: string }
}

const read = new WeakMap<Capabilities, Document>()

/** Parses each document once, however many of its fields are selected. */
function documentOf(capabilities: Capabilities): Document {
  const document: Document = read.get(capabilities) ?? JSON.parse(capabilities.text)
  read.set(capabilities, document)
  return document
}

const hardware = new WeakMap<Capabilities, Hardware>()

function hardwareOf(capabilities: Capabilities): Hardware {
  const known = hardware.get(capabilities) ?? readHardware(documentOf(capabilities))
  hardware.set(capabilities, known)
  return known
}

const DeviceCpu = builder.objectRef<Cpu>('DeviceCpu').implement({
  access: 'viewer',
  description: 'A processor of a device.',
  fields: (t) => ({
    architecture: t.exposeString('architecture', {
      nullable: true,
      description: 'The architecture, such as `arm64`. Null: not reported.',
    }),
    cores: t.exposeFloat('cores', { nullable: true, description: 'Number of cores. Null: not reported.' }),
  }),
})

export const DeviceCapabilities = builder.objectRef<Capabilities>('DeviceCapabilities').implement({
  access: 'viewer',
  description: 'The capabilities that a device reported last.',
  fields: (t) => ({
    reportedAt: t.expose('at', { type: 'DateTime', description: 'When the server received them.' }),
    generation: t.exposeString('generation', {
      description: 'The generation of the route that received them: `margo/` and the month when it was introduced.',
    }),
    kind: t.string({
      nullable: true,
      description: 'The `kind` of the document, such as `ClusterCapabilitiesManifest`. Null: the document has none.',
      resolve: (capabilities) => documentOf(capabilities).kind ?? null,
    }),
    vendor: t.string({
      description: 'The vendor. Empty for a cluster.',
      resolve: (capabilities) => documentOf(capabilities).properties?.vendor ?? '',
    }),
    modelNumber: t.string({
      description: 'The model number. Empty for a cluster.',
      resolve: (capabilities) => documentOf(capabilities).properties?.modelNumber ?? '',
    }),
    serialNumber: t.string({
      description: 'The serial number. Empty for a cluster.',
      resolve: (capabilities) => documentOf(capabilities).properties?.serialNumber ?? '',
    }),
    cpus: t.field({
      type: [DeviceCpu],
      description: 'The processors, in the order of the document.',
      resolve: (capabilities) => [...hardwareOf(capabilities).cpus],
    }),
    memory: t.string({
      nullable: true,
      description: 'The memory, as the device wrote it, such as `8Gi`. Null: not reported.',
      resolve: (capabilities) => hardwareOf(capabilities).memory,
    }),
    memoryBytes: t.float({
      nullable: true,
      description: 'The memory in bytes. Null: not reported, or not a quantity.',
      resolve: (capabilities) => bytesOf(hardwareOf(capabilities).memory),
    }),
    storage: t.string({
      nullable: true,
      description: 'The storage, as the device wrote it, such as `64Gi`. Null: not reported.',
      resolve: (capabilities) => hardwareOf(capabilities).storage,
    }),
    storageBytes: t.float({
      nullable: true,
      description: 'The storage in bytes. Null: not reported, or not a quantity.',
      resolve: (capabilities) => bytesOf(hardwareOf(capabilities).storage),
    }),
    deploymentTypes: t.stringList({
      description: 'The types of deployments that the device supports, such as `helm` and `compose`.',
      resolve: (capabilities) => [...hardwareOf(capabilities).deploymentTypes],
    }),
    document: t.field({ type: 'JSON', description: 'The whole document, as the device sent it.', resolve: documentOf }),
  }),
})
