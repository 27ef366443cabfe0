/** How a report that was accepted deviates from its specification. The sentences are in dialects/margo/deviations.ts. */
export const deviationKinds = [
  'FAILED_WITHOUT_ERROR',
  'PENDING_WITHOUT_REASON',
  'INCONSISTENT_STATE',
  'DEPLOYMENT_ID_NOT_UUID',
] as const
export type DeviationKind = (typeof deviationKinds)[number]

export interface Deviation {
  readonly kind: DeviationKind
  /** What the report said. At most 200 characters. */
  readonly example: string
}
