/**
 * Batched lookups of credentials. Results are not cached, so a credential that any replica revokes is refused from the next request on.
 * The cost is one statement for each batch, not for each request. A lookup that arrives during a batch joins the next one, which reads after it.
 */
import { DomainError } from '../../../domain/errors.ts'
import { describeOutage, isTransient } from '../../../store/connection/failure.ts'

export type Lookup<Row> = (id: string) => Promise<Row | null>

export function createLookup<Row>(load: (ids: readonly string[]) => Promise<ReadonlyMap<string, Row>>): Lookup<Row> {
  let flight: Promise<unknown> = Promise.resolve()
  let next: { readonly ids: Set<string>; readonly rows: Promise<ReadonlyMap<string, Row>> } | null = null

  function open() {
    const ids = new Set<string>()
    const rows = flight
      .catch(() => undefined)
      .then(() => {
        next = null
        return load([...ids])
      })
    flight = rows
    return { ids, rows }
  }

  return async (id) => {
    next ??= open()
    next.ids.add(id)
    try {
      return (await next.rows).get(id) ?? null
    } catch (cause) {
      if (!isTransient(cause)) throw cause
      throw new DomainError('UNAVAILABLE', `${describeOutage(cause)}: retry later`, { cause })
    }
  }
}
