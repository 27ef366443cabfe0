/** Bounds the rows of a batch, or of a part of a command, by the bytes of their texts: the database measures them before it sends them. */

/** So many deployments have at most 8 MB: each has at most 320 KiB of errors, and a thousand components with long names. More are measured. */
export const leastMeasured = 8
/** Bytes of the rows that are loaded together if they are measured. To print 24 MB of them again took a turn of 190 ms. */
const mostLoaded = 4 << 20

/** They are too large to be in memory at once. Nothing was decided: the batch or part is written in smaller ones. */
export class BatchTooLarge extends Error {
  override readonly message = 'the rows are too large to be in memory at once'
}

/** Sends no statement for an empty list. */
export type Ask = <Row extends object>(text: string, list: readonly unknown[]) => Promise<Row[]>

/** Bytes of the texts of a row that outsiders make long. */
const textsOf = {
  deployments: 'octet_length(components::text) + coalesce(octet_length(error::text), 0)',
  targets: 'octet_length(labels::text)',
}
/** The rows until they have too many bytes, and the one that exceeds them. To measure takes a microsecond a row, and the database does not send the rest. */
const measured = (
  text: string,
  table: keyof typeof textsOf,
): string => `select * from (select d.*, sum(length) over (rows unbounded preceding) as loaded from (
    select d.*, ${textsOf[table]} as length from (${text}) d) d) d
  where loaded - length <= ${mostLoaded}`
type Measured<Row> = Row & { readonly loaded?: number }

/** Throws BatchTooLarge if many rows are too large together. */
export async function askMeasured<Row extends object>(
  ask: Ask,
  table: keyof typeof textsOf,
  texts: readonly (readonly [text: string, list: readonly unknown[]])[],
): Promise<Row[]> {
  const isMeasured = texts.reduce((sum, [, list]) => sum + list.length, 0) > leastMeasured
  const found = await Promise.all(
    texts.map(([text, list]) => ask<Measured<Row>>(isMeasured ? measured(text, table) : text, list)),
  )
  const rows = found.flat()
  if (rows.some(({ loaded = 0 }) => loaded > mostLoaded)) throw new BatchTooLarge()
  return rows
}
