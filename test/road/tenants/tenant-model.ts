/**
 * What each tenant may know, said from the rule alone: of what happened on a device, its tenant; and what a deployment was before it
 * came there is no part of it. Labels have no past: a device's tenant is whose label it carries now.
 */
import type { Image, ModelChange } from '../reference/reference-facts.ts'
import type { createModel } from '../reference/reference-model.ts'

export type Tenant = 'a' | 'b'
export const tenants: readonly Tenant[] = ['a', 'b']

type Model = ReturnType<typeof createModel>

interface HeardReport {
  readonly number: number
  readonly device: string
  readonly verdict: string
  readonly state: string
  readonly at: number
  readonly revision: number | null
}

export interface ToldChange {
  readonly revision: number
  readonly id: string | null
  readonly kind: string
  readonly what: string
}

/** Of changes. An absent field matches all. */
export interface ToldOf {
  readonly devices?: readonly string[]
  readonly rollouts?: readonly string[]
}

export function createTenantModel(model: Model) {
  const owners = new Map<string, Tenant | null>()
  const heard: HeardReport[] = []

  const sees = (tenant: Tenant, device: string | null): boolean => device !== null && owners.get(device) === tenant

  /** Whose change it was, as its place in the list of all deployments; -1: no deployment's. */
  function numberOf({ revision }: ModelChange): number {
    return (model.past.get(revision) ?? []).findIndex((image) => image.revision === revision)
  }

  /** Its deployment before the entry. */
  function imageBefore(change: ModelChange): Image | undefined {
    const first = model.log.find(({ entry }) => entry === change.entry) ?? change
    return model.past.get(first.revision - 1)?.[numberOf(change)]
  }

  /** Where its deployment was before the entry; null: where it is, or nowhere. */
  function cameFrom(change: ModelChange): string | null {
    const before = imageBefore(change)
    return before && before.device !== change.device ? before.device : null
  }

  /** The rollout that its deployment is in after the entry. */
  function rolloutOf(change: ModelChange): string | undefined {
    const last = model.log.findLast(({ entry }) => entry === change.entry) ?? change
    return model.past.get(last.revision)?.[numberOf(change)]?.rollout
  }

  function told(tenant: Tenant, change: ModelChange): ToldChange | null {
    const { revision, id, kind, what } = change
    if (!sees(tenant, change.device)) return null
    const isHidden = kind === 'DEPLOYMENT_MOVED' && !sees(tenant, cameFrom(change))
    const shown = isHidden ? `null ${change.device}` : kind === 'DEPLOYMENT_REVISED' ? '' : what
    return { revision, id, kind, what: shown }
  }

  /** Of an entry that moved its deployment, the former device gets the move and what is no longer there. */
  function isOn(tenant: Tenant, change: ModelChange, devices: readonly string[]): boolean {
    const from = ['DEPLOYMENT_MOVED', 'COMPONENT_REMOVED'].includes(change.kind) ? cameFrom(change) : null
    return devices.includes(change.device) || (from !== null && devices.includes(from) && sees(tenant, from))
  }

  /** The same for the former rollout, which is also told that the deployment left it. */
  function isIn(tenant: Tenant, change: ModelChange, rollouts: readonly string[]): boolean {
    const rollout = rolloutOf(change)
    const left = ['DEPLOYMENT_REVISED', 'COMPONENT_REMOVED'].includes(change.kind) ? imageBefore(change) : undefined
    return (
      (rollout !== undefined && rollouts.includes(rollout)) ||
      (left !== undefined && rollouts.includes(left.rollout) && sees(tenant, left.device))
    )
  }

  return {
    owners,
    heard,
    sees,
    /** Of those changes; `devices` and `rollouts`: that happened there, or say what left it. */
    changes: (tenant: Tenant, changes: readonly ModelChange[], { devices, rollouts }: ToldOf = {}): ToldChange[] =>
      changes.flatMap((change) =>
        (!devices || isOn(tenant, change, devices)) && (!rollouts || isIn(tenant, change, rollouts))
          ? (told(tenant, change) ?? [])
          : [],
      ),
    /** By their places in the list of all; `at` null: now. */
    deployments(tenant: Tenant, at: number | null): readonly { readonly number: number; readonly image: Image }[] {
      const images = at === null ? model.all.map(({ image }) => image) : (model.past.get(at) ?? [])
      return images.flatMap((image, number) =>
        !image.forgotten && sees(tenant, image.device) ? [{ number, image }] : [],
      )
    },
    /** The devices in maintenance windows. `at` null: now. */
    maintained(tenant: Tenant, at: number | null): string[] {
      const inside = model.pastInside.get(at ?? model.revision()) ?? []
      return inside.filter((device) => sees(tenant, device)).toSorted()
    },
    history(tenant: Tenant, number: number, until: number | null): ToldChange[] {
      const own = model.log.filter((change) => numberOf(change) === number && change.revision <= (until ?? Infinity))
      return own.flatMap((change) => told(tenant, change) ?? [])
    },
    reports(tenant: Tenant, number: number, until: number | null): object[] {
      const time = until === null ? Infinity : (model.log.findLast(({ revision }) => revision <= until)?.at ?? 0)
      const isHeard = ({ revision, at }: HeardReport): boolean =>
        revision === null ? at <= time : revision <= (until ?? Infinity)
      const own = heard.filter((report) => report.number === number && isHeard(report) && sees(tenant, report.device))
      return own.map(({ verdict, state }) => ({ verdict, state }))
    },
    /** What a change links to: as it is now where that is seen, else as it was then. */
    linked(tenant: Tenant, change: ModelChange): Image | undefined {
      const number = numberOf(change)
      const now = model.all[number]?.image
      return now && sees(tenant, now.device) ? now : model.past.get(change.revision)?.[number]
    },
  }
}
