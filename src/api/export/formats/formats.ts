/** The format of an export: by `format`, or else by `Accept`. */
import { DomainError } from '../../../domain/errors.ts'
import { accepts, mediaRanges } from '../../rest/negotiation.ts'
import { type Query, refused } from '../query.ts'
import { csv } from './csv.ts'
import type { Format } from './format.ts'
import { ndjson } from './ndjson.ts'
import { parquet } from './parquet.ts'

const formats: readonly Format[] = [ndjson, csv, parquet]

export function formatOf(query: Query, accept: string | undefined): Format {
  const name = query.get('format')
  if (name !== undefined) {
    const named = formats.find((format) => format.name === name)
    if (named) return named
    throw refused('format', `must be one of ${formats.map((format) => format.name).join(', ')}`)
  }
  for (const type of acceptedTypes(accept?.trim() || '*/*')) {
    const found = formats.find(({ mediaTypes }) => mediaTypes.some((own) => matches(type, own) && accepts(accept, own)))
    if (found) return found
  }
  const known = formats.map(({ mediaTypes: [first] }) => first).join(', ')
  throw new DomainError('NOT_ACCEPTABLE', `Accept must allow one of ${known}`, {
    problems: [{ field: 'Accept', message: `must allow one of ${known}` }],
  })
}

/** The best first. */
function acceptedTypes(accept: string): string[] {
  return mediaRanges(accept)
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ range }) => range)
}

function matches(range: string, type: string): boolean {
  return range === '*/*' || range === type || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
}
