/** The devices of the reference model: their gateways, their connectivity, and which of them are retired. */
import type { Connectivity } from './reference-facts.ts'

export function createDevices() {
  const all = new Map<string, Connectivity>()
  const registered = new Set<string>()
  /** The gateway that each is behind; once it is, it stays. */
  const parents = new Map<string, string>()
  /** The maintenance window that each is in. */
  const inside = new Map<string, string>()
  const retired = new Map<string, { readonly at: number; readonly reason: string }>()

  function meet(name: string): void {
    if (!all.has(name)) all.set(name, 'UNKNOWN')
  }

  function parentOf(name: string): string | null {
    return parents.get(name) ?? (name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : null)
  }

  return {
    all,
    registered,
    inside,
    retired,
    meet,
    parentOf,
    /** A device that is named has a gateway, if its name says so. */
    place(name: string): void {
      meet(name)
      const parent = parentOf(name)
      if (parent === null) return
      meet(parent)
      parents.set(name, parent)
    },
    /** No device is placed behind a retired one. */
    isMisplaced: (name: string): boolean => !parents.has(name) && retired.has(parentOf(name) ?? ''),
    /** Into a maintenance window. Null: out of any. A retired device enters none. */
    move(names: readonly string[], window: string | null, note: (name: string, kind: string, reason: string) => void) {
      for (const name of names) {
        const from = inside.get(name) ?? null
        if (!all.has(name) || from === window) continue
        inside.delete(name)
        if (from !== null) note(name, 'MAINTENANCE_ENDED', from)
        if (window === null || retired.has(name)) continue
        inside.set(name, window)
        note(name, 'MAINTENANCE_STARTED', window)
      }
    },
    /** The devices in service behind a gateway. */
    below: (gateway: string): readonly string[] =>
      [...all.keys()].filter((one) => parents.get(one) === gateway && !retired.has(one)).toSorted(),
  }
}

/** What is said of a device of one family never concerns a device of another. */
export function familyOf(device: string): string {
  return device.startsWith('edge-') ? device : 'gw'
}
