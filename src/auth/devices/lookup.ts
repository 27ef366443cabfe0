/**
 * Nothing is remembered between requests, so that a credential revoked on any replica is refused from the next request on.
 * It costs a statement a batch, not a request: whoever comes while one is under way is in the next, which begins after they came.
 */
import { DomainError } from '../../domain/errors.ts'
import { describeOutage, isTransient } from '../../store/connection/failure.ts'

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
      throw new DomainError('UNAVAILABLE', `${describeOutage(cause)}: try again later`, { cause })
    }
  }
}
