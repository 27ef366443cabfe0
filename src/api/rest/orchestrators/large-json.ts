/** Bodies of orchestrators, which may have thousands of objects. */
import { parseLargeJson } from '../../../platform/body/json.ts'
import type { Room } from '../../../platform/body/json-reader.ts'
import { type Exchange, readBody, requireMediaType } from '../exchange.ts'

/** `room`: the parts that may be large. `limit`: bytes. */
export async function readLargeJson(exchange: Exchange, room: Room, limit: number): Promise<unknown> {
  requireMediaType(exchange.request, ['application/json'])
  return parseLargeJson(await readBody(exchange, limit), room)
}
