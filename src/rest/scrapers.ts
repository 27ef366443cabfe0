/**
 * The callers of `/metrics`. An outage of the database is what they have to see, but their keys are in the database. So while it does not
 * answer, the keys that it accepted before stay valid, for this route only: a scrape then shows the process and nothing of the fleet.
 */
import { hashOf } from '../auth/api/keys.ts'
import { DomainError } from '../domain/errors.ts'
import type { Principal } from '../domain/principal.ts'
import type { Millis } from '../domain/values.ts'
import { isTransient } from '../store/connection/failure.ts'
import { within } from '../timing/within.ts'

/** Milliseconds that a scrape waits for the database. Prometheus waits ten seconds for all of a scrape. */
const lookupTimeout = 2_000
/** A caller with valid keys cannot fill the memory with them. */
const mostKeys = 16

/** `identify` throws for a caller that may not read the metrics. */
export function createScrapers<Request>(
  identify: (request: Request) => Promise<Principal>,
  tokenOf: (request: Request) => string | null,
  clock: () => Millis,
): (request: Request) => Promise<Principal> {
  /** By the hash of the key, the latest last. */
  const accepted = new Map<string, Principal>()

  return async (request) => {
    const token = tokenOf(request)
    if (token === null) return identify(request)
    const hash = hashOf(token)
    const known = accepted.get(hash)
    const lookup = identify(request).then(
      (principal) => {
        accepted.delete(hash)
        accepted.set(hash, principal)
        const [oldest] = accepted.keys()
        if (accepted.size > mostKeys && oldest !== undefined) accepted.delete(oldest)
        return principal
      },
      (error: unknown) => {
        if (error instanceof DomainError) accepted.delete(hash)
        throw error
      },
    )
    if (!known || (known.expiresAt !== null && known.expiresAt <= clock())) return lookup
    const answered = lookup.then(
      () => {},
      (error: unknown) => {
        if (!isTransient(error)) throw error
      },
    )
    await within(lookupTimeout, answered)
    return known
  }
}
