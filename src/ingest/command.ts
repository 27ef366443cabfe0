import type { RolloutName } from '../domain/rollout.ts'
import type { TargetKind } from '../domain/target.ts'
import type { World } from './world.ts'

/** Everything a command may look at: loaded for the whole batch in one query a table. */
export interface Needs {
  /** By deploymentId and reporter, and the one of that deploymentId that runs on that device. */
  readonly deployments?: readonly DeploymentNeed[]
  readonly deploymentKeys?: readonly number[]
  /** Every deployment of these reporters. */
  readonly reporters?: readonly string[]
  readonly devices?: readonly string[]
  /** Also what lies above those devices. */
  readonly ancestors?: boolean
  /** Who holds these: ids of public keys, SPIFFE ids. */
  readonly identities?: readonly string[]
  readonly rollouts?: readonly RolloutName[]
  readonly targets?: readonly TargetName[]
  readonly orchestrated?: readonly OrchestratedNeed[]
  /** What these devices should run. */
  readonly manifests?: readonly string[]
  /** What the devices should run that these deployments are desired of. */
  readonly manifestsOf?: readonly number[]
}

export interface TargetName {
  readonly kind: TargetKind
  readonly provider: string
  readonly name: string
}

/** A rollout (one of `rollouts`, too) with its instances, and what of them a command is about. Without one: those of the contexts. */
export interface OrchestratedNeed {
  readonly rollout?: RolloutName
  /** The instances meant: by their own id, or as the context whose label their resources carry. */
  readonly contexts: readonly string[]
  /** Also what users did with the rollout, and every deployment of those instances and of the current one. */
  readonly actions?: boolean
  /** Also all that is theirs: deployments and resources. */
  readonly whole?: boolean
  /** The deployments of its instances on these targets, and of them these components' resources: all, or those of these names. */
  readonly components?: readonly {
    readonly target: TargetName
    readonly component: string
    readonly names: readonly string[] | 'all'
  }[]
}

export interface DeploymentNeed {
  readonly deploymentId: string
  readonly reporter: string
  readonly device: string
  /** Whoever reports it: for declarations. */
  readonly anyReporter?: boolean
  /** Wanted only when the deployment is not there. */
  readonly otherwise?: RolloutName
}

/**
 * One write, decided under the lock, or on what is true if nobody else writes: perhaps more than once. `decide` throws a DomainError
 * before it changes anything in the world, or not at all.
 */
export interface Command<Result> {
  readonly needs: Needs
  decide(world: World): Result
  /** Further statements of the same transaction, for what is not part of the world (tokens). */
  also?(result: Result): readonly Statement[]
}

export interface Statement {
  readonly text: string
  readonly parameters: readonly unknown[]
}
