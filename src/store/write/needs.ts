/** What commands may ask the store to load. */
import type { RolloutName } from '../../domain/rollout.ts'
import type { TargetName } from '../../domain/target.ts'

/** Everything that commands may read. It is loaded for the whole batch, in one query a table. */
export interface Needs {
  /** Deployments by deploymentId and reporter, and the deployment with that deploymentId on that device. */
  readonly deployments?: readonly DeploymentNeed[]
  readonly deploymentKeys?: readonly number[]
  /** How many deployments these reporters have. */
  readonly reporters?: readonly string[]
  readonly devices?: readonly string[]
  /** Devices, with the devices above them. */
  readonly ancestors?: boolean
  /** The names of these devices and of all devices below them, and the places of every deployment that runs on one of them or that one reports. */
  readonly branches?: readonly string[]
  /** The holders of these identities: ids of public keys, and SPIFFE ids. */
  readonly identities?: readonly string[]
  readonly rollouts?: readonly RolloutName[]
  readonly rolloutKeys?: readonly number[]
  /** Also the labels of `rollouts` and `rolloutKeys`. */
  readonly rolloutLabels?: boolean
  readonly targets?: readonly TargetName[]
  readonly orchestrated?: readonly OrchestratedNeed[]
  /** The desired state of these devices. */
  readonly manifests?: readonly string[]
  /** The desired state of the devices whose manifests list these deployments. */
  readonly manifestsOf?: readonly number[]
  /** Of that desired state, no documents: no command of the batch changes a manifest. */
  readonly withoutDocuments?: boolean
  /** Where manifests list these deployments. */
  readonly listed?: readonly number[]
  readonly alerts?: AlertNeed
  /** Maintenance windows, and how many have not ended. */
  readonly maintenance?: readonly number[]
  readonly site?: SiteNeed
}

/** How far this server has the log of a site, and the targets and deployments that its server calls by these keys, or that have these names. */
export interface SiteNeed {
  readonly site: number
  /** Of the site, and of those below it that the batch is about: also how far this server has their logs, if they send them. */
  readonly paths: readonly string[]
  readonly targets: readonly number[]
  readonly deployments: readonly number[]
  readonly targetNames: readonly (TargetName & { readonly path: string })[]
  /** At the site with this path, or below it. */
  readonly deploymentNames: readonly {
    readonly path: string
    readonly deploymentId: string
    readonly reporter: string
  }[]
  /**
   * Also so many deployments of the site and of those below it that its server has not mentioned, and that are not forgotten. `begins`: what it mentioned
   * before does not count.
   */
  readonly missing?: { readonly path: string; readonly limit: number; readonly begins: boolean }
}

export interface AlertNeed {
  /** Rules of these names or keys, with their firing alerts. */
  readonly rules?: readonly string[]
  readonly ruleKeys?: readonly number[]
  /** Also every other rule that is defined in the file. */
  readonly isOfFile?: boolean
  /** Also the cursor of the evaluation, locked until the batch is written. */
  readonly cursor?: boolean
  readonly alertKeys?: readonly number[]
}

/** A rollout (also one of `rollouts`) with its instances and the parts that a command needs. Without a rollout: the instances of the contexts. */
export interface OrchestratedNeed {
  readonly rollout?: RolloutName
  /** The wanted instances, by their id or by the context in the labels of their resources. */
  readonly contexts: readonly string[]
  /** Also the actions on the rollout, and every deployment of those instances and of the current one. */
  readonly actions?: boolean
  /** Also all deployments of the instances, with or without their resources. */
  readonly whole?: 'with resources' | 'without resources'
  /** The deployments of its instances on these targets, with the resources of these components: all, or those with these names. */
  readonly components?: readonly {
    readonly target: TargetName
    readonly component: string
    readonly names: readonly string[] | 'all'
  }[]
  /** Resources of deployments by key. A part of a command needs them of a deployment that an earlier part has named but not yet written. */
  readonly resources?: readonly ResourceNeed[]
}

/** Those with these names, gone ones too, or the next `limit` by key that are not gone. */
export type ResourceNeed = { readonly deploymentKey: number } & (
  | { readonly component: string; readonly wanted: { readonly names: readonly string[] } }
  /** Component null: of all components. */
  | { readonly component: string | null; readonly wanted: { readonly after: number; readonly limit: number } }
)

export interface DeploymentNeed {
  readonly deploymentId: string
  readonly reporter: string
  readonly device: string
  /** Deployments of any reporter, for declarations. */
  readonly anyReporter?: boolean
  /** Needed only if the deployment is missing. */
  readonly otherwise?: RolloutName
}
