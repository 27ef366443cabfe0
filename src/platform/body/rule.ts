/** How a body is read: what is refused before it is parsed, and what parses it. */
import { parseLargeJson } from './json.ts'
import type { Room } from './json-reader.ts'

export interface BodyRule {
  readonly media: readonly string[]
  /** Bytes. */
  readonly limit: number
  parse(bytes: Buffer): unknown
}

/** JSON that may have thousands of objects. `room`: the parts that may be large. */
export function largeJson(limit: number, room: Room = {}): BodyRule {
  return { media: ['application/json'], limit, parse: (bytes) => parseLargeJson(bytes, room) }
}
