/** Keys, sessions and the audit log: nothing of the fleet, but written where everything is. */

import type { AuditEntry } from '../../store/read/api-access.ts'
import type { Statement } from '../../store/write/contract.ts'
import {
  deleteSession,
  insertApiKey,
  insertAudit,
  insertSession,
  type NewApiKey,
  type NewSession,
  withdrawApiKey,
} from '../../store/write/save-api-access.ts'
import type { Command } from '../command.ts'

export function createApiKey(key: Omit<NewApiKey, 'createdAt'>): Command<number> {
  return {
    needs: {},
    decide: ({ now }) => now,
    also: (createdAt) => [insertApiKey({ ...key, createdAt })],
  }
}

/** With the sessions that were signed in with it. */
export function revokeApiKey(id: string): Command<number> {
  return { needs: {}, decide: ({ now }) => now, also: (at) => withdrawApiKey(id, at) }
}

export function openSession(session: NewSession): Command<number> {
  return { needs: {}, decide: ({ now }) => now, also: (now) => insertSession(session, now) }
}

export function closeSession(hash: string): Command<null> {
  return write(deleteSession(hash))
}

export function recordAudit(entries: readonly AuditEntry[]): Command<null> {
  return write([insertAudit(entries)])
}

/** The command, with a line about it in the audit log: both or neither. */
export function audited<Result>(command: Command<Result>, entry: AuditEntry): Command<Result> {
  return { ...command, also: (result) => [...(command.also?.(result) ?? []), insertAudit([entry])] }
}

function write(statements: readonly Statement[]): Command<null> {
  return { needs: {}, decide: () => null, also: () => statements }
}
