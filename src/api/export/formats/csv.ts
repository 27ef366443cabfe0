/** RFC 4180 with a header. A null is an empty field; an empty text is `""`. */
import { csvField, csvText } from '../../../domain/csv.ts'
import { escapeHidden } from '../../../domain/look-alike.ts'
import type { Column, Row } from '../columns.ts'
import type { Format } from './format.ts'

export const csv: Format = {
  name: 'csv',
  mediaTypes: ['text/csv'],
  extension: 'csv',
  async encode(columns, isContinued) {
    let header = isContinued ? '' : lineOf(columns.map(({ name }) => csvField(name)))
    const takeHeader = (): string => {
      const taken = header
      header = ''
      return taken
    }
    return {
      add: (rows) => Buffer.from(takeHeader() + rows.map((row) => lineOf(fieldsOf(columns, row))).join('')),
      end: () => Buffer.from(takeHeader()),
    }
  },
}

const lineOf = (fields: readonly string[]): string => `${fields.join(',')}\r\n`

function fieldsOf(columns: readonly Column[], row: Row): string[] {
  return columns.map(({ name, type }) => {
    const value = row[name]
    if (value === null || value === undefined) return ''
    if (type === 'time') return csvField(new Date(Number(value)).toISOString())
    if (type === 'json') return csvField(escapeHidden(JSON.stringify(value)))
    return (type === 'text' ? csvText : csvField)(String(value))
  })
}
