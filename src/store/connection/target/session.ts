/**
 * A session is one process of the server for one client, as without a pooler. A pooler that gives a process to another client after each transaction breaks
 * settings, prepared statements and LISTEN, and says nothing. So each session has a mark among its settings: where another mark is found, it is another
 * session. Only sessions behind a pooler are asked, and those of a pooler that is switched while the server runs are found so too.
 */
import type postgres from 'postgres'
import { StatementError, shared } from '../failure.ts'

/** Of PostgreSQL, which keeps any setting with a dot in its name. */
const setting = 'rollcall.session'

interface Session {
  readonly client: postgres.Sql
  readonly backend: number
  readonly mark: string
}

function quoted(text: string | number): string {
  return `'${String(text).replaceAll("'", "''")}'`
}

/** Makes the settings, and says which process it is and whether it takes writes. */
export function beginText(settings: Readonly<Record<string, string | number>>, mark: string): string {
  const values = Object.entries({ ...settings, [setting]: mark }).map(
    ([name, value]) => `(${quoted(name)}, ${quoted(value)})`,
  )
  return `select count(set_config(name, value, false)), pg_backend_pid() as pid,
    pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as "isReadOnly" from (values ${values.join(', ')}) as x(name, value)`
}

export const markText = `select current_setting('${setting}', true) as mark, pg_backend_pid() as pid`

export interface Mark {
  readonly mark: string | null
  readonly pid: number
}

export function isSame({ mark, pid }: Mark, session: Pick<Session, 'mark' | 'backend'>): boolean {
  return mark === session.mark && pid === session.backend
}

/** A pooler gives out the process that was used last, or the next one: one look would mostly do. */
const looks = 3

/** Throws if the sessions of two clients, which are both connected, are not two sessions. */
export async function requireSessions(one: Session, other: Session): Promise<void> {
  if (one.backend === other.backend) throw shared()
  for (let look = 0; look < looks; look += 1)
    for (const session of [one, other]) {
      const [found] = await session.client.unsafe<Mark[]>(markText)
      if (!found || !isSame(found, session)) throw shared()
    }
}

/** Whether a statement failed because its prepared text is of another session. */
export function isOfAnotherSession(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(26000|42P05)$/.test(String(error.code))
}

export function isShared(error: unknown): boolean {
  return error instanceof StatementError && error.code === shared().code
}
