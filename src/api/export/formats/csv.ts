/** RFC 4180 with a header. A null is an empty field; an empty text is `""`. */
import { escapeHidden } from '../../../domain/look-alike.ts'
import type { Column, Row } from '../columns.ts'
import type { Format } from './format.ts'

export const csv: Format = {
  name: 'csv',
  mediaTypes: ['text/csv'],
  extension: 'csv',
  async encode(columns, isContinued) {
    let header = isContinued ? '' : lineOf(columns.map(({ name }) => quote(name)))
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
    if (type === 'time') return quote(new Date(Number(value)).toISOString())
    if (type === 'json') return quote(escapeHidden(JSON.stringify(value)))
    return quote(type === 'text' ? guarded(shown(String(value))) : String(value))
  })
}

/** A device chooses its texts. A spreadsheet would run one that begins like a formula; some read full-width signs too (OWASP, CSV injection). */
const guarded = (text: string): string => text.replace(/^[=+\-@\t\r\n＝＋－＠]/, "'$&")

/** A person may open the file. */
const shown = (text: string): string => text.split('\r\n').map(escapeHidden).join('\r\n')

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`
