/**
 * A signed message is claimed before its command runs, so one of several concurrent copies is executed, on any replica.
 *
 *   claimed ──▶ executed and recorded in one transaction ──▶ the message is never accepted again (401)
 *      │ └────▶ failed (database outage, temporary refusal) ──▶ released: the same message is accepted again
 *      └──────▶ the process ends ──▶ the claim expires after a minute
 *
 * A check before the work and a record after it was rejected: concurrent copies would all pass the check. A copy that arrives during the
 * work receives 503, because it may be a retry of the device itself.
 */
import { DomainError } from '../../../domain/errors.ts'
import type { Database } from '../../../store/database.ts'
import { findUsed } from '../../../store/read/device-credentials.ts'
import type { Proof } from '../../../store/signature-claims.ts'
import { claimSignatures, releaseSignature } from '../../../store/signature-claims.ts'
import { createLookup } from './lookup.ts'
import { replayed } from './refusal.ts'

/** Throws CredentialRefused for a message that was accepted before, UNAVAILABLE while a copy of it is in progress. */
type Claiming = <T>(proof: Proof, work: () => Promise<T>) => Promise<T>

/** Seconds. Longer than any command takes. */
const longestWork = 60

export function createClaiming(database: Pick<Database, 'session'>): Claiming {
  /** Claims of this process. The statement cannot detect two copies within one batch. */
  const own = new Map<string, Proof>()
  const claim = createLookup((ids) =>
    claimSignatures(
      database.session,
      ids.flatMap((id) => own.get(id) ?? []),
      longestWork,
    ),
  )
  const isUsed = createLookup((ids) => findUsed(database.session, ids))

  return async (proof, work) => {
    const { id } = proof
    if (own.has(id)) throw underWay()
    own.set(id, proof)
    try {
      if (!(await claim(id))) throw (await isUsed(id)) ? replayed() : underWay()
      return await work().catch(async (error: unknown) => {
        await releaseSignature(database.session, id).catch(() => undefined)
        throw error
      })
    } finally {
      own.delete(id)
    }
  }
}

function underWay(): DomainError {
  return new DomainError('UNAVAILABLE', 'the same signed message is in progress: retry later')
}
