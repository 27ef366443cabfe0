/** The custom resources that a cluster has, by name, and how many of them have a label: a cluster may have very many, and change them often. */
import type { CustomResource } from './custom-resource.ts'
import { labelOf } from './custom-resource.ts'

export type Owner = Pick<CustomResource['state'], 'context' | 'component' | 'uid'>

export interface PresentObjects {
  readonly size: number
  get(name: string): Owner | undefined
  set(name: string, owner: Owner): void
  delete(name: string): void
  /** Whether an object has that label. */
  isShown(label: string): boolean
}

export function createPresentObjects(): PresentObjects {
  const owners = new Map<string, Owner>()
  const labels = new Map<string, number>()

  function remove(name: string): void {
    const owner = owners.get(name)
    if (!owner) return
    owners.delete(name)
    const label = labelOf(owner)
    const left = (labels.get(label) ?? 1) - 1
    if (left === 0) labels.delete(label)
    else labels.set(label, left)
  }

  return {
    get size() {
      return owners.size
    },
    get: (name) => owners.get(name),
    set(name, owner) {
      remove(name)
      owners.set(name, owner)
      const label = labelOf(owner)
      labels.set(label, (labels.get(label) ?? 0) + 1)
    },
    delete: remove,
    isShown: (label) => labels.has(label),
  }
}
