/** Any rows in each format, read back by a reader that is not the writer. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { columnsOf, type Row } from '../../src/api/export/columns.ts'
import { csv } from '../../src/api/export/formats/csv.ts'
import type { Format } from '../../src/api/export/formats/format.ts'
import { ndjson } from '../../src/api/export/formats/ndjson.ts'
import { createParquet } from '../../src/api/export/formats/parquet.ts'
import { escapeHidden } from '../../src/domain/look-alike.ts'
import { type Duck, openDuck } from './duckdb.ts'

const columns = columnsOf({ a: 'text', b: 'revision', c: 'count', d: 'boolean', e: 'time', f: 'json', cursor: 'text' })

const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { nil: null })
/** As the database holds it: no U+0000 and no half of a surrogate pair. */
const text = fc.string({ unit: 'grapheme', maxLength: 30 }).map((value) => value.replaceAll('\0', ''))
const firstDay = Date.parse('1970-01-01T00:00:00Z')
const lastDay = Date.parse('2262-01-01T00:00:00Z')
const row = fc.record({
  a: orNull(
    fc.oneof(text, fc.constantFrom('=1+1', '＝1+1', '\n=1+1', '', '"', ',', '\r\n', '-3', '@x', "'", 'a\u202eb')),
  ),
  b: orNull(fc.maxSafeNat()),
  c: orNull(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  d: orNull(fc.boolean()),
  e: orNull(fc.integer({ min: firstDay, max: lastDay })),
  f: orNull(fc.oneof(fc.array(text), fc.dictionary(text, fc.integer()), text)),
  cursor: text,
})
const rows = fc.array(row, { maxLength: 25 })

async function bytesOf(format: Format, some: readonly Row[], parts = 3): Promise<Buffer> {
  const encoder = await format.encode(columns, false)
  const size = Math.max(1, Math.ceil(some.length / parts))
  const chunks: Buffer[] = []
  for (let from = 0; from < some.length; from += size) chunks.push(encoder.add(some.slice(from, from + size)))
  return Buffer.concat([...chunks, encoder.end()])
}

/** A row as a reader of texts has it. */
const shown = ({ a, b, c, d, e, f, cursor }: Row) => ({
  ...{ a, b: b === null ? null : String(b), c: c === null ? null : String(c), d: d === null ? null : String(d) },
  ...{ e: e === null ? null : new Date(Number(e)).toISOString(), f: f === null ? null : JSON.stringify(f), cursor },
})

it('loads the library for Parquet only when Parquet is requested', () => {
  const src = join(import.meta.dirname, '../../src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const loading = files.filter((file) => /^import (?!type ).*'hyparquet/m.test(readFileSync(join(src, file), 'utf8')))
  expect(loading).toEqual([])
})

describe('rows', () => {
  let duck: Duck
  beforeAll(async () => {
    duck = await openDuck()
  })
  afterAll(() => duck.close())

  it('are the same in Parquet, in row groups of bounded size', async () => {
    const select = `select a, b::varchar as b, c::varchar as c, d::varchar as d, strftime(e, '%Y-%m-%dT%H:%M:%S.%gZ') as e, f, cursor
      from read_parquet(FILE)`
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 9 }), async (some, size) => {
        const bytes = await bytesOf(createParquet({ rows: size, characters: 1_000 }), some)
        expect(await duck.ask(bytes, select)).toEqual(some.map(shown))
        const groups = await duck.ask(bytes, 'select max(row_group_num_rows)::int as most from parquet_metadata(FILE)')
        expect(Number(groups[0]?.most ?? 0)).toBeLessThanOrEqual(size)
      }),
      { numRuns: 60 },
    )
  })

  it('have types in Parquet, with and without rows', async () => {
    for (const some of [[], fc.sample(row, 3)]) {
      const bytes = await bytesOf(createParquet({ rows: 10, characters: 1_000 }), some)
      const types = await duck.ask(bytes, 'describe select * from read_parquet(FILE)')
      expect(types.map(({ column_name: name, column_type: type }) => `${name} ${type}`)).toEqual([
        ...[
          'a VARCHAR',
          'b BIGINT',
          'c INTEGER',
          'd BOOLEAN',
          'e TIMESTAMP WITH TIME ZONE',
          'f VARCHAR',
          'cursor VARCHAR',
        ],
      ])
    }
  })

  it('are the same in CSV, except for an apostrophe before what looks like a formula, and escapes of what hides', async () => {
    const select = `select * from read_csv(FILE, all_varchar = true, header = true, delim = ',', quote = '"', escape = '"',
      allow_quoted_nulls = false, new_line = '\\r\\n', auto_detect = false, columns = {'a': 'VARCHAR', 'b': 'VARCHAR', 'c': 'VARCHAR',
      'd': 'VARCHAR', 'e': 'VARCHAR', 'f': 'VARCHAR', 'cursor': 'VARCHAR'})`
    const escaped = (value: unknown) =>
      typeof value === 'string' ? value.split('\r\n').map(escapeHidden).join('\r\n') : value
    const guarded = (value: unknown) => {
      const text = escaped(value)
      return typeof text === 'string' ? text.replace(/^[=+\-@\t\r\n＝＋－＠]/, "'$&") : text
    }
    await fc.assert(
      fc.asyncProperty(rows, async (some) => {
        const found = await duck.ask(await bytesOf(csv, some), select)
        const expected = some
          .map(shown)
          .map((each) => ({ ...each, a: guarded(each.a), f: escaped(each.f), cursor: guarded(each.cursor) }))
        expect(found).toEqual(expected)
      }),
      { numRuns: 60 },
    )
  })

  it('are the same in NDJSON', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (some) => {
        const lines = (await bytesOf(ndjson, some)).toString().split('\n').slice(0, -1)
        const expected = some.map((each) => ({ ...each, b: shown(each).b, e: shown(each).e }))
        expect(lines.map((line) => JSON.parse(line))).toEqual(JSON.parse(JSON.stringify(expected)))
      }),
    )
  })
})
