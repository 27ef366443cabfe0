/** What libraries with observers of their own ask of the client. */
import { ApiError, type Client, type Result } from './client.ts'

interface Observer {
  next(result: Pick<Result, 'data' | 'errors'>): void
  error(error: unknown): void
  complete(): void
}

interface Question {
  readonly kind: string
  readonly query: string
  readonly variables: object | undefined
}

/** Asks once, or follows a subscription. The returned function ends it. */
export function observe(client: Client, { kind, query, variables }: Question, observer: Observer): () => void {
  const left = new AbortController()
  const { signal } = left
  async function ask(): Promise<void> {
    if (kind !== 'subscription') return observer.next(await client.execute(query, variables, { signal }))
    for await (const { data } of client.watch<NonNullable<Result['data']>>(query, variables, { signal }))
      observer.next({ data })
  }
  ask()
    .catch((error: unknown) => {
      if (signal.aborted) return
      if (!(error instanceof ApiError) || error.errors.length === 0) throw error
      observer.next({ data: null, errors: error.errors })
    })
    .then(
      () => signal.aborted || observer.complete(),
      (error: unknown) => observer.error(error),
    )
  return () => left.abort()
}
