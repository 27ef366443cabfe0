/** How a report deviates from its specification. dialects/margo/deviations.ts has a sentence for each kind. */
export const reportDeviationKinds = [
  'FAILED_WITHOUT_ERROR',
  'PENDING_WITHOUT_REASON',
  'INCONSISTENT_STATE',
  'DEPLOYMENT_ID_NOT_UUID',
  'UNKNOWN_KIND',
  'TEXT_ALTERED',
  'PART_NOT_UNDERSTOOD',
  'FORMER_FIELD_NAME',
] as const

/** A device deviates by its ID, too. */
export const deviationKinds = [...reportDeviationKinds, 'ID_LOOKS_LIKE_ANOTHER'] as const
export type DeviationKind = (typeof deviationKinds)[number]

export interface Deviation {
  readonly kind: DeviationKind
  /** The text of the report, of at most 200 characters, or the ID of the other device. */
  readonly example: string
}
