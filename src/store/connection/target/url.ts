/**
 * Reads the URL of a PostgreSQL as libpq does, so that psql and pg_dump take the same one: several hosts, folders of Unix sockets, TLS, a schema in
 * `options`. A parameter that has no effect here is refused, because its operator relies on it.
 */
import { userInfo } from 'node:os'

/** A host that begins with a slash is the folder of a Unix socket. */
export interface Address {
  readonly host: string
  readonly port: number
}

export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'

export interface Login {
  readonly addresses: readonly Address[]
  readonly user: string
  readonly database: string
  /** Null: the URL has none. */
  readonly password: string | null
  readonly passFile: string | null
  /** Of the tables. */
  readonly schema: string
  /** Of each session. */
  readonly settings: Readonly<Record<string, string>>
  /** Whether a server that takes no writes is left for the next one. */
  readonly mustWrite: boolean
  readonly tls: {
    readonly mode: TlsMode
    /** Files. */
    readonly rootCert: string | null
    readonly cert: string | null
    readonly key: string | null
    readonly passphrase: string | null
  }
}

/** Completes a sentence that begins with the name of the variable. It never has the password. */
export class UrlError extends Error {}

const form = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/
const defaultPort = 5432

/** They set what Rollcall sets by itself, or nothing that it has. */
const withoutEffect =
  /^(application_name|fallback_application_name|client_encoding|connect_timeout|keepalives(_idle|_interval|_count)?|tcp_user_timeout|gssencmode|sslcompression|sslsni|load_balance_hosts)$/

export function parseDatabaseUrl(text: string): Login {
  const [, userInformation = '', hosts = '', path = '', query = ''] =
    form.exec(text) ?? fail('must be a URL that begins with postgres://')
  const given = new Map(new URLSearchParams(query.replaceAll('+', '%2B')))
  const take = (name: string): string | null => {
    const value = given.get(name) ?? null
    given.delete(name)
    return value
  }
  const [name = '', ...password] = userInformation.split(':')
  const user = take('user') ?? (decoded(name) || userInfo().username)
  const fromUrl = password.length > 0 ? decoded(password.join(':')) : null
  const addresses = addressesOf(hosts, take('host'), take('port'))
  const { schema, settings } = optionsOf(take('options') ?? '')
  const login = {
    addresses,
    user,
    database: take('dbname') ?? (decoded(path) || user),
    password: take('password') ?? fromUrl,
    passFile: take('passfile'),
    schema,
    settings,
    mustWrite: mustWrite(take('target_session_attrs')) || addresses.length > 1,
    tls: tlsOf(take),
  }
  if (take('channel_binding') === 'require')
    fail('asks for channel_binding=require, which Rollcall lacks: remove it, and use sslmode=verify-full')
  const unknown = [...given.keys()].find((parameter) => !withoutEffect.test(parameter))
  return unknown === undefined ? login : fail(`has the parameter ${unknown}, which Rollcall does not know: remove it`)
}

/** Where it leads, for operators. */
export function locationOf({ user, addresses, database }: Login): string {
  return `postgres://${user}@${addresses.map(nameOf).join(',')}/${database}`
}

export function nameOf({ host, port }: Address): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === defaultPort ? name : `${name}:${port}`
}

function fail(problem: string): never {
  throw new UrlError(problem)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return fail('has a % that is no percent-encoding: write %25')
  }
}

function addressesOf(authority: string, host: string | null, port: string | null): Address[] {
  const ports = port === null ? [] : port.split(',')
  const named =
    host === null
      ? authority.replaceAll(/%2c/gi, ',').split(',').map(splitHost)
      : host.split(',').map((one) => ({ host: one }))
  return named.map(({ host, port: own }: { host: string; port?: string | undefined }, index) => {
    const text = own ?? ports[index] ?? ports[0] ?? String(defaultPort)
    if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65_535) fail('has a port that is none')
    return { host: host || 'localhost', port: Number(text) }
  })
}

function splitHost(text: string): { readonly host: string; readonly port: string | undefined } {
  const [, bracketed, plain = '', port] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text) ?? fail('has a host that is none')
  return { host: bracketed ?? decoded(plain), port: port || undefined }
}

function mustWrite(wanted: string | null): boolean {
  if (wanted === null || wanted === 'any') return false
  if (wanted === 'read-write' || wanted === 'primary') return true
  return fail(`asks for target_session_attrs=${wanted}, and Rollcall writes: use read-write`)
}

/** `-c name=value` and `--name=value`, as a server takes them at start. */
function optionsOf(text: string): Pick<Login, 'schema' | 'settings'> {
  const settings: Record<string, string> = {}
  const rest = text.replaceAll(/(?:-c\s*|--)([\w.-]+)=((?:\\.|[^\s\\])*)/g, (_, name: string, value: string) => {
    settings[name.replaceAll('-', '_').toLowerCase()] = value.replaceAll(/\\(.)/g, '$1')
    return ''
  })
  if (rest.trim() !== '') fail(`has options that are not of the form -c name=value (in a URL: -c%20name%3Dvalue)`)
  const { search_path: path = 'public', ...others } = settings
  const schema = path.replace(/^"(.*)"$/, '$1')
  // It is part of names that PostgreSQL limits to 63 bytes.
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(schema))
    fail('has a search_path that is not one schema of at most 40 lower-case letters, digits and underscores')
  return { schema, settings: others }
}

function tlsOf(take: (name: string) => string | null): Login['tls'] {
  const isAsked = take('ssl') === 'true'
  const [rootCert, cert, key] = [take('sslrootcert'), take('sslcert'), take('sslkey')]
  const mode = take('sslmode') ?? (rootCert ? 'verify-full' : isAsked || cert ? 'require' : 'disable')
  if ((cert === null) !== (key === null)) fail('has one of sslcert and sslkey: set both')
  return { mode: modeOf(mode, rootCert), rootCert, cert, key, passphrase: take('sslpassword') }
}

function modeOf(mode: string, rootCert: string | null): TlsMode {
  switch (mode) {
    case 'allow':
      return 'prefer'
    case 'require':
      // As libpq: a file of authorities is there to be used.
      return rootCert ? 'verify-ca' : mode
    case 'disable':
    case 'prefer':
    case 'verify-ca':
    case 'verify-full':
      return mode
    default:
      return fail(`asks for sslmode=${mode}: use disable, prefer, require, verify-ca or verify-full`)
  }
}
