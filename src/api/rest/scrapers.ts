/**
 * The callers of `/metrics`. They must see an outage of the database, but their keys are in the database. So while it does not answer, keys that
 * were accepted before stay valid, for this route only. A scrape then shows the process and nothing of the fleet.
 */

import { DomainError } from '../../domain/errors.ts'
import type { Principal } from '../../domain/principal.ts'
import type { Millis } from '../../domain/values.ts'
import { within } from '../../platform/timing/within.ts'
import { isTransient } from '../../store/connection/failure.ts'
import { hashOf } from '../auth/api/keys.ts'

/** Milliseconds that a scrape waits for the database. Prometheus waits ten seconds for all of a scrape. */
const lookupTimeout = 2_000
/** The limit keeps a caller with many valid keys from filling the memory. */
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
