/**
 * Rows that the writer wrote or read, so that it does not read them again. The cache is exact: under the lock, the head has a count of
 * writes. If it equals the count after this server's last batch, no other server has written since.
 */
import { LRUCache } from 'lru-cache'
import type { Deployment } from '../domain/deployment.ts'
import { ownSite, type Target } from '../domain/target.ts'
import type { Effects, Loaded } from '../store/write/contract.ts'
import type { Needs } from '../store/write/needs.ts'

export interface RowCache {
  /** Forgets everything if another server has written. */
  checkUnchanged(writes: number): void
  /** The cached rows for these needs, and the needs without cached rows. */
  recall(needs: readonly Needs[]): { readonly loaded: Loaded; readonly missing: readonly Needs[] }
  /** After COMMIT. */
  remember(loaded: Loaded, effects: Effects, writes: number): void
  /** After anything else. */
  forget(): void
}

/** Units of memory: a row is one, each of its components another, and long texts count too. A unit is about 300 bytes. */
const textUnit = 200

/** `capacity`: the number of rows. A row may be large, so deployments are also limited to four units of memory for each of them. */
export function createRowCache(capacity: number): RowCache {
  const deployments = new LRUCache<string, Deployment>({
    max: capacity,
    maxSize: 4 * capacity,
    sizeCalculation: unitsOf,
    dispose: (deployment, _, reason) => {
      if (reason === 'evict') names.delete(deployment.key)
    },
  })
  /** A deployment that another reporter claims is no longer found by its old name. */
  const names = new Map<number, string>()
  const devices = new LRUCache<string, Target>({ max: capacity })
  let exactAt: number | null = null

  function forget(): void {
    deployments.clear()
    names.clear()
    devices.clear()
    exactAt = null
  }

  function rememberDeployment(deployment: Deployment): void {
    if (deployment.instanceKey !== null || deployment.siteKey !== ownSite) return
    const name = nameOf(deployment)
    const before = names.get(deployment.key)
    if (before !== undefined && before !== name) deployments.delete(before)
    names.set(deployment.key, name)
    deployments.set(name, deployment)
    // A row that is larger than the whole cache is not kept.
    if (!deployments.has(name)) names.delete(deployment.key)
  }

  function rememberDevice(target: Target): void {
    if (target.kind === 'DEVICE' && target.siteKey === ownSite) devices.set(target.name, target)
  }

  /** All rows of a report's needs. Null: at least one is not known. */
  function lookUp(
    need: Needs,
  ): { readonly deployments: readonly Deployment[]; readonly devices: readonly Target[] } | null {
    if (!isReported(need)) return null
    const places = allOf(need.devices, (name) => devices.get(name))
    const known = places && allOf(need.deployments, (one) => deployments.get(nameOf(one)))
    // The present target of a deployment may differ from the devices in the report.
    const isPlaced = known?.every(({ targetKey }) => places?.some(({ key }) => key === targetKey))
    return isPlaced && known && places ? { deployments: known, devices: places } : null
  }

  return {
    forget,
    checkUnchanged(writes) {
      if (exactAt !== writes) forget()
    },
    recall(needs) {
      const found: Deployment[] = []
      const targets = new Map<number, Target>()
      const missing: Needs[] = []
      for (const need of needs) {
        const known = lookUp(need)
        if (!known) missing.push(need)
        else {
          found.push(...known.deployments)
          for (const target of known.devices) targets.set(target.key, target)
        }
      }
      return { loaded: { deployments: found, targets: [...targets.values()], rollouts: [] }, missing }
    },
    remember(loaded, effects, writes) {
      exactAt = writes
      if (effects.clearedMarks.size > 0) {
        deployments.clear()
        names.clear()
      }
      for (const deployment of loaded.deployments) rememberDeployment(deployment)
      for (const { row } of effects.deployments.values()) rememberDeployment(row)
      for (const target of loaded.targets) rememberDevice(target)
      for (const { row } of effects.targets.values()) rememberDevice(row)
    },
  }
}

/** The rows of all items. Null: at least one has none. */
function allOf<Item, Row>(items: readonly Item[] = [], rowOf: (item: Item) => Row | undefined): readonly Row[] | null {
  const rows: Row[] = []
  for (const item of items) {
    const row = rowOf(item)
    if (row === undefined) return null
    rows.push(row)
  }
  return rows
}

/** Whether the needs are only deployments by reporter, and devices: the needs of a report, which the cache knows by name. */
export function isReported({ deployments, devices, ...others }: Needs): boolean {
  for (const name in others) if (others[name as keyof typeof others]) return false
  return !deployments?.some(({ anyReporter }) => anyReporter)
}

function unitsOf({ components, error }: Deployment): number {
  let units = 1 + components.length + Math.floor((error?.message.length ?? 0) / textUnit)
  for (const component of components) units += Math.floor((component.error?.message.length ?? 0) / textUnit)
  return units
}

function nameOf({ deploymentId, reporter }: { deploymentId: string; reporter: string }): string {
  return `${deploymentId}\n${reporter}`
}
