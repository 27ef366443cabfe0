/**
 * What `@defer` and `@stream` leave for later. It is read from the snapshot of its operation, which is closed after the last part, at the
 * time limit of the operation, or when the client leaves. Parts do not wait for a client that reads slowly: all of them together are no
 * larger than another answer, and the snapshot is free.
 */
import type { GraphQLError } from 'graphql'
import { orAborted } from '../../../store/connection/abort.ts'
import { asRefusal } from '../guards/limits.ts'
import type { Context } from './context.ts'
import { formatError, type MaskError } from './errors.ts'
import type { InParts, PartsFormat } from './executor.ts'

interface WithErrors {
  readonly errors?: readonly GraphQLError[]
}

export interface Part extends WithErrors {
  readonly hasNext: boolean
  readonly pending?: readonly { readonly id: string }[]
  readonly incremental?: readonly WithErrors[]
  readonly completed?: readonly (WithErrors & { readonly id: string })[]
}

export interface Parts {
  readonly format: PartsFormat
  /** Calls `take` with each part. Resolves after the last one. Never rejects. */
  follow(take: (part: Part) => void): Promise<void>
  /** Instead of following. */
  end(): void
}

export function partsOf(context: Context, { initialResult, subsequentResults }: InParts, format: PartsFormat): Parts {
  const signal = context.signal()
  const open = new Set<string>()
  let isOver = false

  function end(): void {
    if (isOver) return
    isOver = true
    signal.removeEventListener('abort', end)
    subsequentResults.return().catch(() => undefined)
    void context.close()
  }

  function note({ pending = [], completed = [] }: Part): void {
    for (const { id } of pending) open.add(id)
    for (const { id } of completed) open.delete(id)
  }

  /** In the older form, a part says what failed only by its path, which is not known. */
  function lastPart(error: GraphQLError): Part {
    if (format === 'paths' || open.size === 0) return { errors: [error], hasNext: false }
    return { completed: [...open].map((id) => ({ id, errors: [error] })), hasNext: false }
  }

  note(initialResult)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()

  return {
    format,
    end,
    async follow(take) {
      let hasNext = true
      try {
        while (hasNext) {
          const { value } = await orAborted<{ readonly value: unknown }>(subsequentResults.next(), signal)
          const part = (value as Part | undefined) ?? { hasNext: false }
          note(part)
          ;({ hasNext } = part)
          take(part)
        }
      } catch (error) {
        take(lastPart(signal.aborted ? asRefusal(signal.reason) : (error as GraphQLError)))
      } finally {
        end()
      }
    },
  }
}

/** As it is sent, with its errors masked. */
export function formatPart({ errors, incremental, completed, ...part }: Part, maskError: MaskError): object {
  const formatted = <One extends WithErrors>(one: One) =>
    one.errors ? { ...one, errors: one.errors.map((error) => formatError(maskError(error))) } : one
  return formatted({
    ...part,
    ...(errors && { errors }),
    ...(incremental && { incremental: incremental.map(formatted) }),
    ...(completed && { completed: completed.map(formatted) }),
  })
}
