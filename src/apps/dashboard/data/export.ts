/** A list as a file: all of its pages, in the order and with the filters that are shown. */
import { csvText } from '../../../domain/csv.ts'

export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | boolean | null | undefined>>

interface Page<Row> {
  readonly nodes: readonly Row[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

export async function* readPages<Row>(askPage: (after: string | null) => Promise<Page<Row> | null>) {
  for (let after: string | null = null, isLast = false; !isLast; ) {
    const page: Page<Row> | null = await askPage(after)
    yield page?.nodes ?? []
    after = page?.pageInfo.endCursor ?? null
    isLast = !page?.pageInfo.hasNextPage
  }
}

export async function writeList<Row>(
  format: 'csv' | 'json',
  pages: AsyncIterable<readonly Row[]>,
  columns: Columns<Row>,
): Promise<string> {
  const rows: Row[] = []
  for await (const page of pages) rows.push(...page)
  const entries = Object.entries(columns)
  if (format === 'json')
    return JSON.stringify(
      rows.map((row) => Object.fromEntries(entries.map(([name, read]) => [name, read(row) ?? null]))),
      null,
      2,
    )
  const lines = [
    entries.map(([name]) => name),
    ...rows.map((row) => entries.map(([, read]) => String(read(row) ?? ''))),
  ]
  return lines.map((line) => line.map(csvText).join(',')).join('\r\n')
}
