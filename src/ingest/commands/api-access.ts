/** Keys, sessions and the audit log. They are not part of the fleet, but the same writer writes them. */
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
} from '../../store/write/save/save-api-access.ts'
import type { Command } from '../command.ts'

export function createApiKey(key: Omit<NewApiKey, 'createdAt'>): Command<number> {
  return {
    needs: {},
    decide: ({ now }) => now,
    statements: (createdAt) => [insertApiKey({ ...key, createdAt })],
  }
}

/** Also removes the sessions that were signed in with the key. */
export function revokeApiKey(id: string): Command<number> {
  return { needs: {}, decide: ({ now }) => now, statements: (at) => withdrawApiKey(id, at) }
}

export function openSession(session: NewSession): Command<number> {
  return { needs: {}, decide: ({ now }) => now, statements: (now) => insertSession(session, now) }
}

export function closeSession(hash: string): Command<null> {
  return write(deleteSession(hash))
}

export function recordAudit(entries: readonly AuditEntry[]): Command<null> {
  return write([insertAudit(entries)])
}

/** Adds a line in the audit log to the command: both are written or neither. */
export function audited<Result>(command: Command<Result>, entry: AuditEntry): Command<Result> {
  return { ...command, statements: (result) => [...(command.statements?.(result) ?? []), insertAudit([entry])] }
}

function write(statements: readonly Statement[]): Command<null> {
  return { needs: {}, decide: () => null, statements: () => statements }
}
