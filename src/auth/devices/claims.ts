/**
 * A signed message is claimed before what it asks for is done: of copies that come at once, on whichever replicas, one is executed.
 *
 *   claimed ──▶ done, which is written with it ──▶ never good again (401)
 *      │ └────▶ not done (the database is away, a refusal that may pass) ──▶ released: the same message is good again
 *      └──────▶ the process ends ──▶ the claim does, after a minute
 *
 * To look first and to note it afterwards would let all pass that come in between. A copy that comes meanwhile is told to come again (503):
 * it may be the device's own, which was told so before.
 */
import { DomainError } from '../../domain/errors.ts'
import type { Database } from '../../store/database.ts'
import { findUsed } from '../../store/read/device-credentials.ts'
import type { Proof } from '../../store/signature-claims.ts'
import { claimSignatures, releaseSignature } from '../../store/signature-claims.ts'
import { createLookup } from './lookup.ts'
import { replayed } from './refusal.ts'

/** Throws CredentialRefused when the message has been taken, UNAVAILABLE while a copy of it is worked on. */
export type Claiming = <T>(proof: Proof, work: () => Promise<T>) => Promise<T>

/** Seconds. More than any work takes. */
const longestWork = 60

export function createClaiming(database: Pick<Database, 'session'>): Claiming {
  /** Of two in one statement neither would lose. */
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
  return new DomainError('UNAVAILABLE', 'the same signed message is being worked on: try again later')
}
