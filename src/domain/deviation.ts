/** How a report deviates from its specification. dialects/margo/deviations.ts has a sentence for each kind. */
export const deviationKinds = [
  'FAILED_WITHOUT_ERROR',
  'PENDING_WITHOUT_REASON',
  'INCONSISTENT_STATE',
  'DEPLOYMENT_ID_NOT_UUID',
  'UNKNOWN_KIND',
] as const
export type DeviationKind = (typeof deviationKinds)[number]

export interface Deviation {
  readonly kind: DeviationKind
  /** The text of the report. At most 200 characters. */
  readonly example: string
}
