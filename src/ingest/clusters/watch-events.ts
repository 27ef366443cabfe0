/** Reads the stream of a watch: its lines, and the event of each line. */
import { isObject } from '../../platform/body/problems.ts'
import { gather } from '../../platform/limits/gather.ts'
import { memberOf, NotJson, readAnswer } from '../../platform/outbound/json.ts'
import { AnswerError } from '../../platform/outbound/request.ts'
import { ApiServerError, describeRefusal } from './api-server-error.ts'

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: object
  /** Bytes. */
  readonly size: number
}

/** Bytes. Many times the limit that etcd has for an object. */
const longestLine = 16 << 20
/** Of one custom resource. It has a value in some thirty bytes. */
export const objectLimits = { most: 400_000, longestText: 2 << 20 }

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

export interface ReadEvents {
  readonly events: readonly WatchEvent[]
  /** Events without an object that can be read. */
  readonly leftOut: number
  readonly failure: ApiServerError | null
}

/** Events before an error are valid. */
export async function readEvents(lines: readonly Buffer[]): Promise<ReadEvents> {
  const events: WatchEvent[] = []
  let leftOut = 0
  for (const line of lines) {
    if (isBlank(line)) continue
    const event = await readEvent(line)
    if (event instanceof ApiServerError) return { events, leftOut, failure: event }
    if (event === 'unreadable') leftOut += 1
    else if (event) events.push(event)
  }
  return { events, leftOut, failure: null }
}

/** Null: an event of another kind. */
async function readEvent(line: Buffer): Promise<WatchEvent | ApiServerError | 'unreadable' | null> {
  let event: unknown
  try {
    event = await readAnswer(line, objectLimits)
  } catch (error) {
    if (error instanceof NotJson) return new ApiServerError(error.message)
    if (error instanceof AnswerError) return 'unreadable'
    throw error
  }
  const [type, object] = [memberOf(event, 'type'), memberOf(event, 'object')]
  if (!isObject(object)) return 'unreadable'
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object, size: line.length }
    case 'ERROR': {
      const { code, reason } = object
      const status = typeof code === 'number' ? code : reason === 'Expired' || reason === 'Gone' ? 410 : 500
      return new ApiServerError(`its stream ends with ${describeRefusal(status, object)}`, status)
    }
    default:
      return null
  }
}
