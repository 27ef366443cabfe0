/** One JSON object a line. Times are ISO 8601 and revisions digits, as in the rest of the API. */
import type { Column, Row } from '../columns.ts'
import type { Format } from './format.ts'

export const ndjson: Format = {
  name: 'ndjson',
  mediaTypes: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
  extension: 'ndjson',
  encode: async (columns) => ({
    add: (rows) => Buffer.from(rows.map((row) => `${lineOf(columns, row)}\n`).join('')),
    end: () => Buffer.alloc(0),
  }),
}

function lineOf(columns: readonly Column[], row: Row): string {
  return JSON.stringify(Object.fromEntries(columns.map((column) => [column.name, jsonOf(column, row[column.name])])))
}

function jsonOf({ type }: Column, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (type === 'time') return new Date(Number(value)).toISOString()
  return type === 'revision' ? String(value) : value
}
