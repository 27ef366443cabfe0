/** Reads the stream of a watch: its lines, and the event of each line. */
import { readJson } from '../dialects/body/json-reader.ts'
import { DomainError } from '../domain/errors.ts'
import { gather } from '../limits/gather.ts'
import { paced } from '../limits/pace.ts'
import { ApiServerError, describeRefusal } from './api-server-error.ts'

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: object }
  | { readonly type: 'BOOKMARK'; readonly object: object }

type Fields = Readonly<Record<string, unknown>>

/** Bytes. Many times the limit that etcd has for an object. */
const longestLine = 16 << 20
/** Values of one response with a list, or of one line of a watch: `[{},{},…]` needs forty times its size as objects. An object has one in some thirty bytes. */
const mostValues = 4_000_000

const newline = 0x0a
const isBlank = (line: Buffer): boolean => line.length < 100 && line.toString().trim() === ''

/** Splits a stream into lines. The end of a line may arrive later than its beginning. */
export function createLineSplitter(): (bytes: Buffer) => readonly Buffer[] {
  const line = gather()
  let length = 0
  return (bytes) => {
    const lines: Buffer[] = []
    let begin = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, begin)) {
      line.add(bytes.subarray(begin, end))
      lines.push(line.take())
      length = 0
      begin = end + 1
    }
    line.add(bytes.subarray(begin))
    length += bytes.length - begin
    if (length > longestLine) throw new ApiServerError('a line of its stream does not end')
    return lines
  }
}

/** Events before an error are valid. */
export async function readEvents(lines: readonly Buffer[]) {
  const events: WatchEvent[] = []
  for (const line of lines) {
    if (isBlank(line)) continue
    const event = await readEvent(line)
    if (event instanceof ApiServerError) return { events, failure: event }
    if (event) events.push(event)
  }
  return { events, failure: null }
}

async function readEvent(line: Buffer): Promise<WatchEvent | ApiServerError | null> {
  let event: Fields
  try {
    event = (await readObject(line)) as Fields
  } catch (error) {
    return error as ApiServerError
  }
  const { type, object } = event
  if (typeof object !== 'object' || object === null) return new ApiServerError('an event of its stream has no object')
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object }
    case 'ERROR': {
      const { code, reason } = object as Fields
      const status = typeof code === 'number' ? code : reason === 'Expired' || reason === 'Gone' ? 410 : 500
      return new ApiServerError(`its stream ends with ${describeRefusal(status, object)}`, status)
    }
    default:
      return null
  }
}

/** Integers keep their digits. An object that is nested too deep fails alone, not the whole answer. */
export async function readObject(bytes: Buffer): Promise<object> {
  try {
    const options = { deepest: Number.POSITIVE_INFINITY, room: 'anywhere', most: mostValues } as const
    const value = await paced(readJson(bytes, options))
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    if (error instanceof DomainError && error.code === 'TOO_LARGE')
      throw new ApiServerError(`it answers with more than ${mostValues} values`)
    // The error below does not quote the text.
  }
  throw new ApiServerError('it answers with something that is not JSON')
}
