/** The desired state of devices in a batch's unit of work. Pure bookkeeping. */
import {
  type Declaration,
  type Digest,
  firstManifestVersion,
  type Manifest,
  type ManifestEntry,
} from '../../domain/desired.ts'
import type { DesiredEffects, LoadedDesired } from '../../store/write/contract.ts'

export interface DesiredDocument {
  readonly content: string
  readonly digest: Digest
  /** Bytes. */
  readonly size: number
}

export const nothingLoaded: LoadedDesired = { versions: new Map(), entries: [] }

/** The author and the reason of a change of a device's desired state. */
export interface Cause {
  readonly caller: string
  readonly why: string
}

/** All documents of a version together, as devices fetch them. */
export type DigestBundle = (documents: readonly { readonly deploymentId: string; readonly content: string }[]) => {
  readonly digest: Digest
  readonly size: number
}

interface ManifestChange {
  readonly put: readonly {
    readonly entry: Omit<ManifestEntry, 'targetKey' | 'since' | 'until' | 'digest' | 'size'>
    readonly document: DesiredDocument
  }[]
  /** Deployment ids. */
  readonly drop: readonly string[]
}

export interface DesiredState {
  version(targetKey: number): number
  /** Bytes of the newest version's documents. */
  size(targetKey: number): number
  /** Of the newest version. */
  entry(targetKey: number, deploymentId: string): ManifestEntry | null
  entryOf(deploymentKey: number): ManifestEntry | null
  /** Creates the device's next version and returns its number. */
  change(targetKey: number, change: ManifestChange, cause: Cause, bundle: DigestBundle): number
  /** Records who declared deployments of a rollout. */
  declared(declaration: Omit<Declaration, 'at'>): void
  effects(): DesiredEffects
}

export function createDesiredState(loaded: LoadedDesired): DesiredState {
  const versions = new Map(loaded.versions)
  const current = new Map<number, Map<string, ManifestEntry & { readonly content: string }>>()
  const byDeployment = new Map<number, ManifestEntry>()
  const documents = new Map<Digest, string>()
  const manifests: Omit<Manifest, 'at'>[] = []
  const declarations: Omit<Declaration, 'at'>[] = []
  const touched = new Map<string, ManifestEntry>()

  const entriesOf = (targetKey: number) => {
    const known = current.get(targetKey) ?? new Map<string, ManifestEntry & { readonly content: string }>()
    current.set(targetKey, known)
    return known
  }
  for (const entry of loaded.entries) {
    entriesOf(entry.targetKey).set(entry.deploymentId, entry)
    byDeployment.set(entry.deploymentKey, entry)
  }
  const touch = (entry: ManifestEntry): void => {
    touched.set(`${entry.targetKey}/${entry.since}/${entry.deploymentId}`, entry)
  }

  return {
    size: (targetKey) => [...(current.get(targetKey)?.values() ?? [])].reduce((sum, { size }) => sum + size, 0),
    version: (targetKey) => versions.get(targetKey) ?? firstManifestVersion,
    entry: (targetKey, deploymentId) => current.get(targetKey)?.get(deploymentId) ?? null,
    entryOf: (deploymentKey) => byDeployment.get(deploymentKey) ?? null,
    change(targetKey, { put, drop }, cause, bundle) {
      const version = (versions.get(targetKey) ?? firstManifestVersion) + 1
      versions.set(targetKey, version)
      const entries = entriesOf(targetKey)
      for (const deploymentId of [...drop, ...put.map(({ entry }) => entry.deploymentId)]) {
        const former = entries.get(deploymentId)
        if (!former) continue
        touch({ ...former, until: version })
        entries.delete(deploymentId)
        byDeployment.delete(former.deploymentKey)
      }
      for (const { entry, document } of put) {
        const { content, digest, size } = document
        const added = { ...entry, targetKey, since: version, until: null, digest, size, content }
        entries.set(entry.deploymentId, added)
        byDeployment.set(entry.deploymentKey, added)
        documents.set(digest, content)
        touch(added)
      }
      const made = entries.size === 0 ? null : bundle([...entries.values()])
      manifests.push({
        targetKey,
        version,
        ...cause,
        bundleDigest: made?.digest ?? null,
        bundleSize: made?.size ?? null,
      })
      return version
    },
    declared: (declaration) => void declarations.push(declaration),
    effects() {
      return { documents, manifests, declarations, entries: touched.values() }
    },
  }
}
