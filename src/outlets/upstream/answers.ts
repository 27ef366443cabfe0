/** Reads what the server above answers. It may be another program behind a mistaken address, so everything is checked. */
import { z } from 'zod'
import type { Standing, Taken } from '../../domain/sites/batch.ts'
import { foreignText } from '../../domain/text.ts'
import { memberOf, readAnswer } from '../../platform/outbound/json.ts'
import { AnswerError } from '../../platform/outbound/request.ts'

/** Keys that a batch uses are some thousands. */
const limits = { most: 50_000, longestText: 4_096 }

const number = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER)
const position = z.object({ epoch: number, revision: number, writes: number })
const keys = z.array(number).readonly()
const standing = z.object({
  protocols: z.array(number).readonly(),
  site: z.string(),
  position: position.nullable(),
  snapshot: z.object({ upTo: position, after: number }).nullable(),
  unknown: z.object({ deployments: keys, targets: keys }).optional(),
})
const taken = z.object({ position: position.nullable() })

export async function readStanding(bytes: Uint8Array): Promise<Standing> {
  const { unknown, ...found } = await read(bytes, standing)
  return { ...found, ...(unknown && { unknown }) }
}

export function readTaken(bytes: Uint8Array): Promise<Taken> {
  return read(bytes, taken)
}

async function read<T>(bytes: Uint8Array, shape: z.ZodType<T>): Promise<T> {
  const { success, data, error } = shape.safeParse(await readAnswer(bytes, limits))
  if (success) return data
  const [issue] = error.issues
  throw new AnswerError(`it answers with something else than a Rollcall does (${issue?.path.join('.') || 'no object'})`)
}

/** What a refusal says about itself (RFC 9457). Null: nothing. */
export async function readDetail(bytes: Uint8Array): Promise<string | null> {
  const answer = await readAnswer(bytes, limits).catch(() => null)
  const detail = memberOf(answer, 'detail') ?? memberOf(answer, 'title')
  return typeof detail === 'string' && detail !== '' ? foreignText(detail) : null
}
