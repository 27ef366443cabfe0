/** The desired state of devices, present and past: manifest versions and their documents. */
import { type Digest, firstManifestVersion, type Manifest as ManifestRow } from '../../../../domain/desired.ts'
import type { DeploymentRow } from '../../../../store/read/deployments.ts'
import type { DocumentStay, ManifestVersion } from '../../../../store/read/desired/desired.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { required } from '../../execution/required.ts'
import { type Connection, connect, implementConnection, type PageArguments } from '../connection.ts'

export const DesiredDocument = builder.objectRef<DocumentStay>('DesiredDocument').implement({
  access: 'viewer',
  description: 'A declared ApplicationDeployment document, current or former.',
  fields: (t) => ({
    digest: t.exposeString('digest', { description: '`sha256:` and the hash of the exact bytes.' }),
    content: t.string({
      access: 'operator',
      description:
        'The document, byte for byte as declared. It may contain secrets, so reading it requires the role OPERATOR.',
      resolve: async ({ digest, size }, _, context) => {
        // One statement may read thousands of documents, so the budget is checked first.
        context.budget.expect(size)
        return required(await (await context.reader()).documentContent(digest), 'document')
      },
    }),
    sizeBytes: t.exposeInt('size', { description: 'The size in bytes.' }),
    fromManifestVersion: t.string({
      description: "The first version of the device's manifest that contains the document, as a 64-bit decimal number.",
      resolve: ({ since }) => String(since),
    }),
    untilManifestVersion: t.string({
      nullable: true,
      description:
        'The first later version without the document, as a 64-bit decimal number. Null: the newest version contains it.',
      resolve: ({ until }) => (until === null ? null : String(until)),
    }),
    declaredAt: t.expose('at', { type: 'DateTime', description: 'When it was declared.' }),
    declaredBy: t.exposeString('caller', { description: 'The name of the caller that declared it.' }),
    reason: t.exposeString('why', { description: 'The reason that the caller gave. Empty: none.' }),
  }),
})

const ManifestDocument = builder.objectRef<ManifestVersion['changes'][number]>('ManifestChange').implement({
  access: 'viewer',
  description: 'A deployment that a manifest version changed.',
  fields: (t) => ({
    deploymentId: t.exposeString('deploymentId', { description: 'The ID of the deployment.' }),
    digest: t.exposeString('digest', {
      nullable: true,
      description: 'The digest of its document from this version on. Null: the document was removed.',
    }),
  }),
})

const ManifestVersionRef = builder.objectRef<ManifestVersion>('ManifestVersion').implement({
  access: 'viewer',
  description: "A version of a device's manifest: the documents that the device should apply.",
  fields: (t) => ({
    version: t.string({
      description: 'The version as a 64-bit decimal number. Each version is 1 more than the previous one.',
      resolve: ({ version }) => String(version),
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When the version was created.' }),
    caller: t.exposeString('caller', { description: 'The name of the caller that made the change.' }),
    reason: t.exposeString('why', { description: 'The reason that the caller gave. Empty: none.' }),
    bundleDigest: t.exposeString('bundleDigest', {
      nullable: true,
      description: 'The digest of the archive with all documents of this version. Null: the version has no documents.',
    }),
    changes: t.expose('changes', {
      type: [ManifestDocument],
      description: 'The differences from the previous version.',
    }),
  }),
})

export function versionOf(manifest: ManifestRow | undefined): string {
  return String(manifest?.version ?? firstManifestVersion)
}

export const DesiredDocumentConnection = implementConnection(
  'DesiredDocument',
  () => DesiredDocument,
  'desired documents, newest first',
)
export const ManifestVersionConnection = implementConnection(
  'ManifestVersion',
  () => ManifestVersionRef,
  'manifest versions, newest first',
)

/** The documents of a deployment. In the past: without later versions. */
export function documentsOf(
  { reader }: Pick<Context, 'reader'>,
  { key, asOf, targetManifestVersion }: Pick<DeploymentRow, 'key' | 'asOf' | 'targetManifestVersion'>,
  args: PageArguments,
  digest: Digest | null = null,
): Connection<DocumentStay> {
  // In the present it is the whole list, so one statement reads it for many deployments.
  const selection = { upTo: asOf === null ? null : (targetManifestVersion ?? '0'), digest }
  return connect(
    args,
    async (page) => (await reader()).documents(key, page, selection),
    async () => (await reader()).documentCount(key, selection),
  )
}

export function manifestsOf(
  { reader }: Pick<Context, 'reader'>,
  targetKey: number,
  args: PageArguments,
): Connection<ManifestVersion> {
  return connect(
    args,
    async (page) => (await reader()).manifests(targetKey, page),
    async () => (await reader()).manifestCount(targetKey),
  )
}
