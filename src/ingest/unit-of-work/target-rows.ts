/** The targets of a unit of work, by name, public key and SPIFFE id, with the changes of the batch. */
import { foldName } from '../../domain/look-alike.ts'
import { notInMaintenance } from '../../domain/maintenance.ts'
import { inService, ownSite, type Target, type TargetKind } from '../../domain/target.ts'
import type { Revision } from '../../domain/values.ts'
import { type Effects, type Loaded, stronger, type Touch } from '../../store/write/contract.ts'

interface TargetRows {
  /** Throws if the target was not loaded. */
  byKey(key: number): Target
  find(key: number): Target | null
  /** `siteKey` absent: this server's own. */
  byName(kind: TargetKind, provider: string, name: string, siteKey?: number): Target | null
  put(target: Target, touch: Touch): void
  /** The target that holds this public key or SPIFFE id. */
  holderOf(identity: string): Target | null
  /** For later commands of the batch. The command itself writes the change. Null: no target holds the credential any more. */
  giveIdentity(identity: string, target: Target | null): void
  /** `revision`: the last of the batch. */
  effects(revision: Revision): Effects['targets']
}

export function createTargetRows(loaded: Pick<Loaded, 'targets' | 'identities'>): TargetRows {
  const rows = new Map(loaded.targets.map((target) => [target.key, target]))
  const devices = new Map(loaded.targets.filter(isOwnDevice).map((target) => [target.name, target.key]))
  const others = new Map(loaded.targets.filter((t) => !isOwnDevice(t)).map((t) => [placeName(t), t.key]))
  const identities = new Map(loaded.identities)
  const touched = new Map<number, { row: Target; touch: Touch }>()

  function byKey(key: number): Target {
    const target = rows.get(key)
    if (!target) throw new Error(`target ${key} was not loaded`)
    return target
  }

  return {
    byKey,
    find: (key) => rows.get(key) ?? null,
    byName(kind, provider, name, siteKey = ownSite) {
      const key = isOwnDevice({ kind, siteKey })
        ? devices.get(name)
        : others.get(placeName({ kind, provider, name, siteKey }))
      return key === undefined ? null : byKey(key)
    },
    put(target, touch) {
      rows.set(target.key, target)
      if (isOwnDevice(target)) devices.set(target.name, target.key)
      else others.set(placeName(target), target.key)
      touched.set(target.key, { row: target, touch: stronger(touched.get(target.key)?.touch, touch) })
    },
    holderOf: (identity) => rows.get(identities.get(identity) ?? -1) ?? null,
    giveIdentity(identity, target) {
      if (target) identities.set(identity, target.key)
      else identities.delete(identity)
    },
    // A target exists from the first revision of its batch after it was created. A batch without one shows it at once.
    effects: (revision) =>
      new Map(
        [...touched].map(([key, { row, touch }]) => {
          const createdRevision = Math.min(row.createdRevision, revision)
          return [key, { row: touch === 'created' ? { ...row, createdRevision } : row, touch }]
        }),
      ),
  }
}

export function newTarget(
  key: number,
  kind: TargetKind,
  provider: string,
  name: string,
  createdRevision: Revision,
  siteKey = ownSite,
): Target {
  const folded = kind === 'DEVICE' ? foldName(name) : name
  return {
    key,
    kind,
    provider,
    name,
    siteKey,
    foldedName: folded === name ? null : folded,
    displayName: null,
    labels: [],
    registered: false,
    expectedInterval: null,
    parentKey: null,
    connectivity: 'UNKNOWN',
    lastHeardAt: null,
    connectionOrder: null,
    revokedAt: null,
    ...inService,
    ...notInMaintenance,
    maintenanceEndedAt: null,
    createdRevision,
  }
}

/** Devices of sites have names that this server's own may have, too. */
function isOwnDevice({ kind, siteKey }: Pick<Target, 'kind' | 'siteKey'>): boolean {
  return kind === 'DEVICE' && siteKey === ownSite
}

function placeName({ siteKey, kind, provider, name }: Pick<Target, 'siteKey' | 'kind' | 'provider' | 'name'>): string {
  return `${siteKey}\n${kind}\n${provider}\n${name}`
}
