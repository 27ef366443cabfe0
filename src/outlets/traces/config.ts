/** Where traces go. */
export interface TracesConfig {
  /** The collector's address for traces. */
  readonly url: string
  /** They may hold a secret. */
  readonly headers: Readonly<Record<string, string>>
  /** `service.name` of the resource. */
  readonly service: string
  /** The share of requests that are traced, from 0 to 1. Null: none, and what traces them is not loaded. */
  readonly requests: number | null
}
