/** The columns of an exported row. Each format writes the types in its own way. */

/**
 * `revision`: a whole number of up to 53 bits, digits in JSON as in the rest of the API. `count`: a whole number of up to 31 bits. `time`:
 * milliseconds since 1970. `json`: any JSON value.
 */
export type ColumnType = 'text' | 'revision' | 'count' | 'boolean' | 'time' | 'json'

export interface Column {
  readonly name: string
  readonly type: ColumnType
}

export type Row = Readonly<Record<string, unknown>>

export function columnsOf(types: Readonly<Record<string, ColumnType>>): readonly Column[] {
  return Object.entries(types).map(([name, type]) => ({ name, type }))
}

/** The place of a row: after `deployments` to `reports`, the columns are the same. */
export const rolloutColumns = {
  rolloutKind: 'text',
  rollout: 'text',
  project: 'text',
  compositeApp: 'text',
  compositeAppVersion: 'text',
  provider: 'text',
} as const satisfies Record<string, ColumnType>

export const targetColumns = { targetKind: 'text', targetProvider: 'text', target: 'text' } as const satisfies Record<
  string,
  ColumnType
>
