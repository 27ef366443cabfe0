/** What devices should run, and what they should have run before: versions of manifests, and the documents in them. */
import { firstManifestVersion, type Manifest as ManifestRow } from '../domain/desired.ts'
import type { DocumentStay, ManifestVersion } from '../store/desired.ts'
import { builder } from './builder.ts'
import { required } from './required.ts'

export const DesiredDocument = builder.objectRef<DocumentStay>('DesiredDocument').implement({
  access: 'viewer',
  description: 'A document that a device should apply, or should have applied: an ApplicationDeployment.',
  fields: (t) => ({
    digest: t.exposeString('digest', { description: '`sha256:` and the hash of its exact bytes.' }),
    content: t.string({
      access: 'operator',
      description: 'The document as it was declared. It may hold what only its users should know.',
      resolve: async ({ digest, size }, _, context) => {
        // A hundred lines of text are not one row.
        context.spend(Math.ceil(size / 1024))
        return required(await (await context.reader()).documentContent(digest), 'document')
      },
    }),
    sizeBytes: t.exposeInt('size', { description: 'How long it is.' }),
    fromManifestVersion: t.string({
      description: "The first version of its device's manifest that has it.",
      resolve: ({ since }) => String(since),
    }),
    untilManifestVersion: t.string({
      nullable: true,
      description: 'The first version that has it no more; null: the newest has it.',
      resolve: ({ until }) => (until === null ? null : String(until)),
    }),
    declaredAt: t.expose('at', { type: 'DateTime', description: 'When it was declared.' }),
    declaredBy: t.exposeString('who', { description: 'Who declared it.' }),
    reason: t.exposeString('why', { description: 'Why, if somebody said.' }),
  }),
})

const ManifestDocument = builder.objectRef<ManifestVersion['changes'][number]>('ManifestChange').implement({
  access: 'viewer',
  description: 'What a version of a manifest changed.',
  fields: (t) => ({
    deploymentId: t.exposeString('deploymentId', { description: 'Of which deployment.' }),
    digest: t.exposeString('digest', {
      nullable: true,
      description: 'Of its document from then on; null: it should not run any more.',
    }),
  }),
})

export const ManifestVersionRef = builder.objectRef<ManifestVersion>('ManifestVersion').implement({
  access: 'viewer',
  description: 'A version of what a device should run.',
  fields: (t) => ({
    version: t.string({
      description: "Its number, a 64-bit number's digits: each is one more than the one before.",
      resolve: ({ version }) => String(version),
    }),
    at: t.expose('at', { type: 'DateTime', description: 'Since when.' }),
    who: t.exposeString('who', { description: 'Who changed it.' }),
    reason: t.exposeString('why', { description: 'Why, if somebody said.' }),
    bundleDigest: t.exposeString('bundleDigest', {
      nullable: true,
      description: 'Of all its documents in one archive; null: it lists none.',
    }),
    changes: t.expose('changes', {
      type: [ManifestDocument],
      description: 'What is different from the version before.',
    }),
  }),
})

export function versionOf(manifest: ManifestRow | undefined): string {
  return String(manifest?.version ?? firstManifestVersion)
}
