/** What a device said that it can run. */
import type { DeviceProfile } from '../store/profiles.ts'
import { builder } from './builder.ts'

type Capabilities = NonNullable<DeviceProfile['capabilities']>

/** Checked when it was taken: all generations have these. */
interface Document {
  readonly properties: { readonly vendor: string; readonly modelNumber: string; readonly serialNumber: string }
}

const read = new WeakMap<Capabilities, Document>()

/** Read once, whichever of its fields are asked for. */
function documentOf(capabilities: Capabilities): Document {
  const document: Document = read.get(capabilities) ?? JSON.parse(capabilities.text)
  read.set(capabilities, document)
  return document
}

export const DeviceCapabilities = builder.objectRef<Capabilities>('DeviceCapabilities').implement({
  access: 'viewer',
  description: 'What a device said that it is and can run: the newest that it said.',
  fields: (t) => ({
    reportedAt: t.expose('at', { type: 'DateTime', description: 'When it said so.' }),
    generation: t.exposeString('generation', {
      description: 'The generation of the route that it said it on: `margo/` and when that was introduced.',
    }),
    vendor: t.string({
      description: 'Who made it.',
      resolve: (capabilities) => documentOf(capabilities).properties.vendor,
    }),
    modelNumber: t.string({
      description: 'Which model it is.',
      resolve: (capabilities) => documentOf(capabilities).properties.modelNumber,
    }),
    serialNumber: t.string({
      description: 'Which of that model it is.',
      resolve: (capabilities) => documentOf(capabilities).properties.serialNumber,
    }),
    document: t.field({
      type: 'JSON',
      description: 'All of it, as it was sent.',
      resolve: (capabilities, _, context) => {
        // As of the documents that it should run.
        context.spend(Math.ceil(capabilities.text.length / 1024))
        return documentOf(capabilities)
      },
    }),
  }),
})
