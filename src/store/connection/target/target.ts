/**
 * Where a PostgreSQL is, for all connections of a `Database`. Its files are read again for each connection, so a token that lasts a quarter of an hour
 * may be in one of them. Of several hosts, the one that took the last connection is asked first.
 */
import { read } from './dial.ts'
import { passwordIn } from './pass-file.ts'
import { type Address, type Login, locationOf, parseDatabaseUrl } from './url.ts'

export interface DatabaseAddress {
  /** The name of the variable, for messages. */
  readonly variable?: string
  readonly url: string
  /** Files. One with the URL, one in libpq's form, and one with the password alone. */
  readonly password?: string | null
  readonly urlFile?: string | null
  readonly passFile?: string | null
  readonly passwordFile?: string | null
  /** A standby, which takes no writes. */
  readonly isStandby?: boolean
}

export interface Target {
  readonly variable: string
  readonly schema: string
  /** For operators, without a password. */
  readonly location: string
  readonly login: () => Promise<Login>
  readonly passwordFor: (login: Login, address: Address) => Promise<string | null>
  /** That which was taken last comes first. */
  readonly inOrder: (addresses: readonly Address[]) => readonly Address[]
  /** A connection to this address is used from now on. Those to another address are lost: two servers take writes, and the other is no longer the primary. */
  readonly take: (address: Address, lose: () => void) => () => void
  /** Whether a pooler that gives a session to several clients may be in front. */
  isDoubted: boolean
}

export function createTarget(given: DatabaseAddress | string): Target {
  const { url, variable = 'DATABASE_URL', ...files } = typeof given === 'string' ? { url: given } : given
  const {
    password = null,
    urlFile = null,
    passFile = null,
    passwordFile = null,
    isStandby = false,
  } = files as Partial<DatabaseAddress>
  const first = parseDatabaseUrl(url)
  let newest: string | null = null
  const used = new Map<() => void, string>()

  return {
    variable,
    schema: first.schema,
    location: locationOf(first),
    async login() {
      const text = urlFile === null ? url : (await read(`${variable}_FILE`, urlFile)).trim()
      const login = parseDatabaseUrl(text)
      return isStandby ? { ...login, mustWrite: false } : login
    },
    async passwordFor(login, address) {
      if (login.password !== null) return login.password
      if (passwordFile !== null) return (await read('DATABASE_PASSWORD_FILE', passwordFile)).trim()
      if (password !== null) return password
      const file = login.passFile ?? passFile
      return file === null ? null : passwordIn(await read('PGPASSFILE', file), { ...login, address })
    },
    inOrder: (addresses) => addresses.toSorted((a, b) => Number(keyOf(b) === newest) - Number(keyOf(a) === newest)),
    take(address, lose) {
      const key = keyOf(address)
      newest = key
      used.set(lose, key)
      for (const [loseOther, other] of [...used]) if (other !== key) loseOther()
      return () => used.delete(lose)
    },
    isDoubted: true,
  }
}

function keyOf({ host, port }: Address): string {
  return `${host} ${port}`
}
