/** A counter that a recount does not confirm. */
export interface Drift {
  /** `fleet`, `rollout:<name>`, `checkpoint:#<key of a rollout, 0: the fleet>@<revision>`, or `resources:#<key of an instance or a deployment>`. */
  readonly scope: string
  readonly field: string
  readonly counted: number
  readonly recounted: number
}
