/** The capabilities that a device reported. */
import type { DeviceProfile } from '../../store/read/profiles.ts'
import { builder } from '../builder.ts'

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
    document: t.field({ type: 'JSON', description: 'The whole document, as the device sent it.', resolve: documentOf }),
  }),
})
