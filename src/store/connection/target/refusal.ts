/** Why no session was opened, and what to do: in a sentence for each address. It never has a password. */
import { ConnectionRefusal } from '../failure.ts'
import type { Target } from './target.ts'
import { type Address, nameOf, UrlError } from './url.ts'

interface Failed {
  /** Null: before any was tried. */
  readonly address: Address | null
  readonly error: unknown
}

interface Rule {
  readonly code: RegExp
  /** Of the server's own message. */
  readonly message?: RegExp
  /** What is so, without the name of the server, and what to do. `said`: the server's message. */
  readonly say: (about: { readonly variable: string; readonly said: string }) => readonly [string, string]
}

const said = (what: string, remedy: string) => (): readonly [string, string] => [what, remedy]

/** The first that fits says it. */
const rules: readonly Rule[] = [
  {
    code: /^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/,
    say: ({ variable }) => ['its name is not known', `correct the host in ${variable}, or the name server`],
  },
  {
    code: /^ECONNREFUSED$/,
    say: ({ variable }) => [
      'it refuses connections',
      `start PostgreSQL there, or correct host and port in ${variable} (listen_addresses of PostgreSQL says where it listens)`,
    ],
  },
  {
    code: /^ENOENT$/,
    say: ({ variable }) => [
      'there is no such socket',
      `start PostgreSQL, or correct the folder (host) and the port in ${variable}`,
    ],
  },
  {
    code: /^EACCES$/,
    say: said('the socket may not be used by the user of this process', 'start Rollcall as a user that may'),
  },
  {
    code: /^ERR_ROLLCALL_NO_FILE$/,
    say: ({ said: message }) => [message, 'correct the path, or let the user of this process read it'],
  },
  {
    code: /^ERR_ROLLCALL_NO_TLS$/,
    say: ({ variable }) => [
      'it does not offer TLS',
      `switch ssl on in PostgreSQL or in the pooler, or remove sslmode from ${variable}`,
    ],
  },
  {
    code: /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|CERT_UNTRUSTED|INVALID_CA)$/,
    say: said(
      'its certificate is of an authority that is not trusted',
      'set sslrootcert to the file with the certificate of that authority',
    ),
  },
  {
    code: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    say: said('its certificate is for another name', 'use a name that the certificate has, or sslmode=verify-ca'),
  },
  { code: /^CERT_HAS_EXPIRED$/, say: said('its certificate has expired', 'replace the certificate of the server') },
  {
    code: /^CERT_NOT_YET_VALID$/,
    say: said('its certificate is not valid yet', "correct this machine's clock, or the certificate"),
  },
  {
    code: /^(ERR_SSL|ERR_OSSL|ERR_TLS|EPROTO)/,
    say: ({ said: message }) => [
      `TLS failed (${message})`,
      'check sslrootcert, sslcert and sslkey, and the log of PostgreSQL',
    ],
  },
  {
    code: /^(28P01|08P01|28000)$/,
    message: /password authentication failed|empty password|SASL authentication failed|no password|wrong password/i,
    say: ({ variable }) => [
      'it refuses the password',
      `correct the password of the user in ${variable}, or in the file that has it`,
    ],
  },
  {
    code: /^28000$/,
    message: /no encryption|SSL off/i,
    say: ({ variable }) => [
      'its pg_hba.conf does not let this user in from here without TLS',
      `add sslmode=verify-full (and sslrootcert) to ${variable}, or a line for the user, the database and this machine to its pg_hba.conf`,
    ],
  },
  {
    code: /^28000$/,
    message: /valid client certificate|certificate authentication failed/i,
    say: said('it wants a certificate', 'set sslcert and sslkey to a certificate of its user'),
  },
  {
    code: /^28000$/,
    message: /no pg_hba\.conf entry|rejects connection/i,
    say: said(
      'its pg_hba.conf does not let this user in from here',
      'add a line for the user, the database and this machine, and reload PostgreSQL',
    ),
  },
  {
    code: /^(28|08P01$)/,
    message: /role .* (does not exist|is not permitted to log in)|no such user/i,
    say: ({ variable }) => [
      'it has no such user, or the user may not log in',
      `create the user (create user …), or correct it in ${variable}`,
    ],
  },
  {
    code: /^(3D000|08P01)$/,
    message: /does not exist|no such database/i,
    say: ({ variable }) => [
      'it has no such database',
      `create the database (docs/operating.md has the statements), or correct its name in ${variable}`,
    ],
  },
  {
    code: /^42501$/,
    say: ({ said: message }) => [
      `it denies the user a right (${message})`,
      'grant what docs/operating.md lists (The rights of its user)',
    ],
  },
  {
    code: /^53300$|^08P01$/,
    message: /too many (clients|connections)|remaining connection slots|no more connections|max_client_conn/i,
    say: said(
      'every connection to it is in use',
      'raise max_connections (of a pooler: max_client_conn and its pool size): each server needs 14',
    ),
  },
  { code: /^57P03$/, say: said('it is starting or stopping', 'wait until it has started') },
  {
    code: /^08P01$/,
    message: /server login|server conn crashed|cannot connect|query_wait_timeout/i,
    say: ({ said: message }) => [
      `the pooler in front cannot sign in to PostgreSQL (${message})`,
      "check the pooler's settings and its log",
    ],
  },
  {
    code: /^25006$/,
    say: ({ variable }) => ['it takes no writes', `it is a standby, or read-only: name the primary in ${variable}`],
  },
  {
    code: /^R0002$/,
    say: ({ variable }) => [
      'a pooler in front of it gives its sessions to several clients (pool_mode is transaction or statement)',
      `name a pool with pool_mode = session in ${variable}, or the port of PostgreSQL itself`,
    ],
  },
  {
    code: /^ERR_ROLLCALL_VERSION$/,
    say: ({ said: message }) => [message, 'use PostgreSQL 15 or later'],
  },
  {
    code: /^ERR_ROLLCALL_NO_STATEMENT$/,
    say: said(
      'it has signed in and executes no statement',
      'a pooler in front may have no connection left: its pool needs 14 for each server (default_pool_size); or PostgreSQL is overloaded',
    ),
  },
  {
    code: /^(ETIMEDOUT|CONNECT_TIMEOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/,
    say: ({ variable }) => [
      'it does not answer',
      `check host and port in ${variable}, the network, and firewalls on the way`,
    ],
  },
  {
    code: /^(ECONNRESET|EPIPE|CONNECTION_(CLOSED|ENDED|DESTROYED)|08006)$/,
    say: said(
      'it ended the connection',
      'a balancer or a pooler in front may have no database behind it, or PostgreSQL does not trust sslcert; otherwise its log has the cause',
    ),
  },
]

export function explainRefusal(target: Target, failed: readonly Failed[]): ConnectionRefusal {
  const sentences = failed.map((one) => sentenceOf(target, one))
  // A server that answers says more than one that is away.
  const cause = (failed.find(({ error }) => codeOf(error) === '25006') ?? failed[0])?.error
  return new ConnectionRefusal(`the database cannot be used: ${sentences.join('; ')}`, codeOf(cause), cause)
}

function sentenceOf(target: Target, { address, error }: Failed): string {
  const { variable } = target
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof UrlError) return `${variable} ${message}`
  const code = codeOf(error) ?? ''
  const rule = rules.find((one) => one.code.test(code) && (one.message?.test(message) ?? true))
  const [what, remedy] = rule?.say({ variable, said: message }) ?? [
    `it answers “${message}”`,
    `check ${variable} and the rights of its user`,
  ]
  return `${address === null ? variable : nameOf(address)}: ${what} (${code || 'no code'}). ${capital(remedy)}`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: readonly unknown[] }
  if (typeof code === 'string') return code
  const inner = errors?.map(codeOf).find((one) => one !== undefined)
  return inner ?? (cause === error ? undefined : codeOf(cause))
}
