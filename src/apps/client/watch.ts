/**
 * A subscription that survives its connections:
 *
 *   open ── event ──▸ the cursor is kept, and the event is handed on
 *    ▲  └── lost, ended by the server, or an error that passes ──▸ pause ─┐
 *    └──────────────────── after the last cursor ──────────────────────────┘
 *
 * Only an event that was handed on moves the cursor.
 */
import { ApiError, isPassing, isRefused, toApiError, toUnreachable } from './errors.ts'
import { createPause, type Pause } from './pause.ts'
import type { Open, Operation, Result } from './transport.ts'

export interface Update<Data> {
  readonly data: Data
  /** Where the subscription goes on after a lost connection. Null: it begins anew, with the present state. */
  readonly cursor: string | null
  /** If it is selected. CURSOR_EXPIRED: changes before this one are missing. OVERFLOW: the caller was too slow; the rest follows, and nothing is missing. */
  readonly reset: string | null
}

export interface WatchOptions {
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined
  /** The connection is lost (with the reason), or the next update comes from a new one (null). */
  readonly interrupted?: ((reason: string | null) => void) | undefined
}

interface Connection {
  readonly open: Open
  readonly token: () => Promise<string | null>
  readonly pause: Pause
}

/** The part of an answer that says where it is in the log. */
type Positioned = { readonly cursor?: string | null; readonly reset?: { readonly reason: string } | null } | null

/** Throws an ApiError if no retry can succeed. */
export async function* watch<Data>(
  { open, token, pause }: Connection,
  { query, variables }: Operation,
  { signal = new AbortController().signal, interrupted }: WatchOptions = {},
): AsyncGenerator<Update<Data>, void, undefined> {
  const isResuming = /\$after\b/.test(query)
  if (!isResuming && /\{\s*(\w+\s*:\s*)?changes\b/.test(query)) throw misused('declare the variable `$after`')
  const operation = { query, variables: { ...variables } }
  const own = createPause()
  let isInterrupted = false
  while (!signal.aborted) {
    let problem = new ApiError('ENDED', 'the server ended the stream')
    let used: string | null = null
    try {
      used = await token()
      for await (const result of open(operation, signal)) {
        const { data, cursor, reset } = readUpdate<Data>(result, isResuming)
        if (cursor !== null) operation.variables.after = cursor
        pause.reset()
        own.reset()
        if (isInterrupted) interrupted?.(null)
        isInterrupted = false
        yield { data, cursor, reset }
      }
    } catch (error) {
      problem = toUnreachable(error)
      // The application may have another credential than the one that was refused.
      const isRenewed = async () => (await token().catch(() => used)) !== used
      if (!isPassing(problem) && !(isRefused(problem) && (await isRenewed()))) throw problem
    }
    if (signal.aborted) return
    isInterrupted = true
    interrupted?.(problem.message)
    await (problem.code === 'UNREACHABLE' ? pause : own).wait(signal)
  }
}

const misused = (what: string): ApiError =>
  new ApiError('BAD_USER_INPUT', `a subscription that resumes needs its cursor: ${what}`)

/** Throws an ApiError. */
function readUpdate<Data>({ data, errors }: Result, isResuming: boolean): Update<Data> {
  if (errors?.[0] || !data) throw toApiError(errors ?? [])
  const { cursor = null, reset = null } = (Object.values(data)[0] ?? {}) as NonNullable<Positioned>
  if (isResuming && cursor === null) throw misused('select `cursor`')
  return { data: data as Data, cursor: isResuming ? cursor : null, reset: reset?.reason ?? null }
}
