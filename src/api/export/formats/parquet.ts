/**
 * Apache Parquet, written as the rows come. A row group is held in memory until it is complete, so its size is bounded in rows and in
 * characters. To write one also blocks the event loop, which larger row groups would do for longer.
 */
import type { SchemaElement } from 'hyparquet-writer'
import type { Column, ColumnType, Row } from '../columns.ts'
import type { Format } from './format.ts'

interface RowGroupLimits {
  readonly rows: number
  /** Characters of the texts. */
  readonly characters: number
}

const limits: RowGroupLimits = { rows: 2_000, characters: 2_000_000 }

export const parquet = createParquet(limits)

export function createParquet({ rows: mostRows, characters: most }: RowGroupLimits): Format {
  return {
    name: 'parquet',
    mediaTypes: ['application/vnd.apache.parquet'],
    extension: 'parquet',
    async encode(columns) {
      // Only those who ask for Parquet load it.
      const { ByteWriter, ParquetWriter } = await import('hyparquet-writer')
      const writer = new ByteWriter()
      const schema: SchemaElement[] = [{ name: 'root', num_children: columns.length }, ...columns.map(schemaOf)]
      const file = new ParquetWriter({ writer, schema, createdBy: 'Rollcall' })
      let group = emptyGroup(columns)
      let [rowCount, characters] = [0, 0]

      function writeGroup(): void {
        if (rowCount === 0) return
        const columnData = columns.map(({ name }, index) => ({ name, data: group[index] ?? [], offsetIndex: false }))
        file.write({ columnData, rowGroupSize: rowCount })
        group = emptyGroup(columns)
        ;[rowCount, characters] = [0, 0]
      }

      function add(row: Row): void {
        for (const [index, { name, type }] of columns.entries()) {
          const value = toParquet(type, row[name])
          if (typeof value === 'string') characters += value.length
          group[index]?.push(value)
        }
        rowCount += 1
        if (rowCount >= mostRows || characters >= most) writeGroup()
      }

      /** The bytes since the last call. */
      function take(): Buffer {
        const bytes = Buffer.from(writer.getBytes())
        writer.index = 0
        return bytes
      }

      return {
        add(rows) {
          for (const row of rows) add(row)
          return take()
        },
        end() {
          writeGroup()
          file.finish()
          return take()
        },
      }
    },
  }
}

const emptyGroup = (columns: readonly Column[]): unknown[][] => columns.map(() => [])

const elements: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  revision: { type: 'INT64' },
  count: { type: 'INT32' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
}

function schemaOf({ name, type }: Column): SchemaElement {
  return { name, repetition_type: 'OPTIONAL', ...elements[type] }
}

/** A value as it is written. */
export function toParquet(type: ColumnType, value: unknown): string | number | bigint | boolean | null {
  if (value === null || value === undefined) return null
  switch (type) {
    case 'text':
      return String(value)
    case 'json':
      return JSON.stringify(value)
    case 'revision':
    case 'time':
      return BigInt(Number(value))
    case 'count':
      return Number(value)
    case 'boolean':
      return Boolean(value)
  }
}
