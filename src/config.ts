/** The environment, parsed once: everything wrong with it is said in one message, and nothing else reads it. */
import { isIP, isIPv4 } from 'node:net'
import { delimiter } from 'node:path'
import { z } from 'zod'
import type { ApiAuthConfig } from './auth/api/api-auth.ts'
import type { DeviceAuthConfig } from './auth/devices/device-auth.ts'
import type { ClustersConfig } from './clusters/clusters.ts'
import type { GitConfig } from './git/git.ts'
import { defaultLimits, type LimitsConfig } from './limits/limits.ts'
import type { AaiConfig } from './sinks/aai.ts'
import type { StoreConfig } from './store/open.ts'

export interface Config {
  readonly server: {
    readonly host: string
    /** 0: any free one. */
    readonly port: number
    /** Where the world reaches this server, without a trailing slash; null: where it listens. */
    readonly publicUrl: string | null
    readonly corsOrigins: readonly string[]
    readonly graphiql: boolean
    /** Whether the schema is told to whoever asks for it. */
    readonly introspection: boolean
    /** A file of the only documents that are executed; null: any document is. */
    readonly persistedDocuments: string | null
    /** Addresses and ranges whose `X-Forwarded-For` is believed. */
    readonly trustedProxies: readonly string[]
    /** Null: it listens in the clear. */
    readonly tls: TlsConfig | null
  }
  readonly limits: LimitsConfig
  readonly store: StoreConfig
  /** Days; null: for ever. */
  readonly retention: { readonly historyDays: number | null; readonly forgetRemovedDays: number | null }
  /** Seconds of silence after which any device counts as OFFLINE; null: silence proves nothing. */
  readonly offlineAfter: number | null
  /** What standing still is: so many times as long as peers took, and seconds where they say nothing; null: neither. */
  readonly stalling: { readonly factor: number | null; readonly after: number | null }
  readonly sinks: {
    /** Host names, addresses and ranges inside that may be told all the same. */
    readonly allow: readonly string[]
    /** Milliseconds of nothing but failures after which one is paused; null: never. */
    readonly giveUpAfter: number | null
    /** Null: no inventory is kept. */
    readonly aai: AaiConfig | null
  }
  readonly clusters: ClustersConfig
  readonly git: GitConfig
  readonly logLevel: LogLevel
  readonly auth: { readonly device: DeviceAuthConfig; readonly api: ApiAuthConfig }
}

/** Paths of files in PEM. */
export interface TlsConfig {
  readonly cert: string
  readonly key: string
  /** Who signs certificates of devices; null: none are asked for. */
  readonly clientCa: string | null
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

type Environment = Readonly<Record<string, string | undefined>>

const port = setting('a port from 0 to 65535 (0 takes any free one)', (text) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : null,
)
/** A hundred years: more than any history, and still a date. */
const days = setting('a number of days greater than 0 and at most 36500', (text) =>
  /^\d{1,5}(\.\d+)?$/.test(text) && Number(text) > 0 && Number(text) <= 36_500 ? Number(text) : null,
)
const seconds = setting('a whole number of seconds from 1 to 2147483647', (text) =>
  /^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= 2_147_483_647 ? Number(text) : null,
)
const skew = setting('a whole number of seconds from 0 to 600', (text) =>
  /^\d{1,3}$/.test(text) && Number(text) <= 600 ? Number(text) : null,
)
const signatureWindow = setting('a whole number of seconds from 1 to 86400', (text) =>
  isNumber(text, 1, 86_400) ? Number(text) : null,
)
const trustDomains = setting('trust domains such as fleet.example, separated by commas', (text) => {
  const list = listOf(text)
  return list.every((domain) => /^[a-z0-9._-]{1,255}$/.test(domain)) ? list : null
})
const factor = setting('a number from 1 to 1000, or off', (text) =>
  text === 'off' || (/^\d{1,4}(\.\d+)?$/.test(text) && Number(text) >= 1 && Number(text) <= 1_000) ? text : null,
)
const secondsOrOff = setting('a whole number of seconds from 1 to 2147483647, or off', (text) =>
  text === 'off' || (/^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= 2_147_483_647) ? text : null,
)
const flag = setting(
  'true or false',
  (text) => ({ true: true, '1': true, false: false, '0': false })[text.toLowerCase()] ?? null,
)
const logLevel = setting(`one of ${logLevels.join(', ')}`, (text) => logLevels.find((level) => level === text) ?? null)
const publicUrl = setting(
  'an http or https address without query or fragment, such as https://rollcall.example',
  (text) => {
    const url = URL.parse(text)
    return url && isWeb(url) && url.search === '' && url.hash === '' ? url.href.replace(/\/+$/, '') : null
  },
)
const origins = setting('origins such as https://board.example, separated by commas, or *', (text) => {
  const list = listOf(text)
  return list.every((origin) => origin === '*' || isOrigin(origin)) ? list : null
})
const allowList = setting('host names, addresses and ranges such as 10.0.0.0/8, separated by commas', (text) => {
  const list = listOf(text)
  return list.every((entry) => isAddressOrRange(entry) || /^[\w.-]+$/.test(entry)) ? list : null
})
const proxies = setting('addresses and ranges such as 10.0.0.0/8, separated by commas', (text) => {
  const list = listOf(text)
  return list.every(isAddressOrRange) ? list : null
})
const rate = setting('a number of requests a second from 1 to 1000000, or off', (text) =>
  text === 'off' || isNumber(text, 1, 1_000_000) ? text : null,
)
const streams = setting('a whole number from 1 to 1000000, or off', (text) =>
  text === 'off' || isNumber(text, 1, 1_000_000) ? text : null,
)
const processes = setting('a whole number from 1 to 1000', (text) => (isNumber(text, 1, 1_000) ? Number(text) : null))
const depth = setting('a whole number from 5 to 50', (text) => (isNumber(text, 5, 50) ? Number(text) : null))
const cost = setting('a whole number from 1000 to 100000000', (text) =>
  isNumber(text, 1_000, 100_000_000) ? Number(text) : null,
)
const operationSeconds = setting('a whole number of seconds from 1 to 600', (text) =>
  isNumber(text, 1, 600) ? Number(text) : null,
)
const aaiVersion = setting('a version from 24 to 99', (text) =>
  /^v?\d{2}$/.test(text) && Number(text.replace('v', '')) >= 24 ? Number(text.replace('v', '')) : null,
)
const clusters = setting(
  'different clusters such as provider+name=context, separated by commas; a context is one of the kubeconfig',
  (text) => {
    const list = listOf(text).map((entry) => {
      const [, provider = '', name = '', context = null] = /^([^+=]{1,256})\+([^=]{1,256})(?:=(.+))?$/.exec(entry) ?? []
      return { provider, name, context }
    })
    const names = new Set(list.map(({ provider, name }) => `${provider}+${name}`))
    return names.size === list.length && list.every(({ name }) => name !== '') ? list : null
  },
)
/** Its value may hold a password, so it is never repeated. */
const databaseUrl = z
  .string()
  .refine((text) => ['postgres:', 'postgresql:'].includes(URL.parse(text)?.protocol ?? ''), {
    error: 'must be an address that begins with postgres://',
  })

/** Milliseconds. What the server reads for itself is not cut off where operations are. */
const leastReadLimit = 15_000

const environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(4000),
  PUBLIC_URL: publicUrl.nullable().default(null),
  CORS_ORIGINS: origins.default([]),
  GRAPHIQL: flag.optional(),
  INTROSPECTION: flag.optional(),
  PERSISTED_DOCUMENTS: z.string().nullable().default(null),
  TRUSTED_PROXIES: proxies.default([]),
  TLS_CERT: z.string().nullable().default(null),
  TLS_KEY: z.string().nullable().default(null),
  TLS_CLIENT_CA: z.string().nullable().default(null),
  MAX_DEPTH: depth.default(20),
  MAX_COST: cost.default(500_000),
  OPERATION_TIMEOUT: operationSeconds.default(15),
  MAX_STREAMS: streams.optional(),
  ADDRESS_RATE: rate.optional(),
  DEVICE_RATE: rate.optional(),
  DATABASE_URL: databaseUrl.nullable().default(null),
  DATA_DIR: z.string().default('./data'),
  HISTORY_DAYS: days.nullable().default(null),
  FORGET_REMOVED_DAYS: days.nullable().default(null),
  OFFLINE_AFTER: seconds.nullable().default(null),
  STALLED_FACTOR: factor.default('3'),
  STALLED_AFTER: secondsOrOff.default('3600'),
  SINK_ALLOW: allowList.default([]),
  SINK_RETRY_DAYS: days.nullable().default(null),
  AAI_URL: publicUrl.nullable().default(null),
  AAI_VERSION: aaiVersion.default(24),
  AAI_USER: z.string().nullable().default(null),
  AAI_PASSWORD: z.string().nullable().default(null),
  AAI_APP_ID: z.string().default('Rollcall'),
  AAI_INCLUDE_KINDS: z.string().transform(listOf).nullable().default(null),
  AAI_EXCLUDE_KINDS: z.string().transform(listOf).default(['Pod', 'ReplicaSet', 'Event']),
  CLUSTERS: clusters.default([]),
  KUBECONFIG: z.string().nullable().default(null),
  GIT: z.string().default('git'),
  GIT_DIRECTORY: z.string().nullable().default(null),
  GIT_PROCESSES: processes.default(defaultLimits.git.processes),
  LOG_LEVEL: logLevel.default('info'),
  DEVICE_AUTH: anyOf(['open', 'token', 'signature', 'mtls']).optional(),
  DEVICE_PROVISION: flag.default(false),
  DEVICE_JWT_JWKS_URL: publicUrl.nullable().default(null),
  DEVICE_JWT_SECRET: secret(32).nullable().default(null),
  DEVICE_JWT_ISSUER: z.string().nullable().default(null),
  DEVICE_JWT_AUDIENCE: z.string().nullable().default(null),
  DEVICE_JWT_CLOCK_SKEW: skew.default(30),
  DEVICE_JWT_CLAIM: z.string().default('sub'),
  SIGNATURE_WINDOW: signatureWindow.default(300),
  SPIFFE_TRUST_DOMAIN: trustDomains.default([]),
  API_AUTH: anyOf(['open', 'key', 'jwt']).optional(),
  API_ADMIN_KEY: secret(24).nullable().default(null),
  API_JWT_JWKS_URL: publicUrl.nullable().default(null),
  API_JWT_SECRET: secret(32).nullable().default(null),
  API_JWT_ISSUER: z.string().nullable().default(null),
  API_JWT_AUDIENCE: z.string().nullable().default(null),
  API_JWT_CLOCK_SKEW: skew.default(30),
  API_JWT_ROLES_CLAIM: z.string().default('roles'),
  API_JWT_SCOPES_CLAIM: z.string().default('rollcall_scopes'),
})

/** Every variable there is; the README's table is checked against it. */
export const variables: readonly string[] = Object.keys(environment.shape)

/** Throws a ConfigError with all problems. A variable that is empty counts as unset; one we do not know is none of our business. */
export function parseConfig(env: Environment): Config {
  const given = Object.fromEntries(variables.map((name) => [name, env[name]?.trim() || undefined]))
  const parsed = environment.safeParse(given)
  const problems = parsed.error?.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`) ?? []
  const host = given.HOST ?? '127.0.0.1'
  problems.push(
    ...missingChoices(host, given),
    ...missingForTls(given),
    ...missingForApi(given, methodsOf(given.API_AUTH)),
    ...missingForDevices(given, methodsOf(given.DEVICE_AUTH)),
  )
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems)
  const v = parsed.data
  const graphiql = v.GRAPHIQL ?? isLoopback(v.HOST)
  const isOpen = (methods: readonly string[] = ['open']): boolean => methods.includes('open')
  // On one's own machine nobody is too fast.
  const isAmongFriends = isLoopback(v.HOST) && isOpen(v.DEVICE_AUTH) && isOpen(v.API_AUTH)
  return freeze({
    server: {
      host: v.HOST,
      port: v.PORT,
      publicUrl: v.PUBLIC_URL,
      corsOrigins: v.CORS_ORIGINS,
      graphiql,
      introspection: v.INTROSPECTION ?? (graphiql || isLoopback(v.HOST)),
      persistedDocuments: v.PERSISTED_DOCUMENTS,
      trustedProxies: v.TRUSTED_PROXIES,
      tls:
        v.TLS_CERT === null || v.TLS_KEY === null
          ? null
          : { cert: v.TLS_CERT, key: v.TLS_KEY, clientCa: v.TLS_CLIENT_CA },
    },
    limits: {
      operation: { depth: v.MAX_DEPTH, cost: v.MAX_COST, time: v.OPERATION_TIMEOUT * 1_000 },
      rates: {
        address: numberUnlessOff(v.ADDRESS_RATE ?? (isAmongFriends ? 'off' : '1000')),
        device: numberUnlessOff(v.DEVICE_RATE ?? (isAmongFriends ? 'off' : '50')),
      },
      streams: numberUnlessOff(v.MAX_STREAMS ?? (isAmongFriends ? 'off' : '1000')),
      git: { ...defaultLimits.git, processes: v.GIT_PROCESSES },
    },
    store: {
      url: v.DATABASE_URL,
      dataDir: v.DATA_DIR,
      readLimit: Math.max(v.OPERATION_TIMEOUT * 1_000, leastReadLimit),
    },
    retention: { historyDays: v.HISTORY_DAYS, forgetRemovedDays: v.FORGET_REMOVED_DAYS },
    offlineAfter: v.OFFLINE_AFTER,
    stalling: { factor: numberUnlessOff(v.STALLED_FACTOR), after: numberUnlessOff(v.STALLED_AFTER) },
    sinks: {
      allow: v.SINK_ALLOW,
      giveUpAfter: v.SINK_RETRY_DAYS === null ? null : v.SINK_RETRY_DAYS * 86_400_000,
      aai:
        v.AAI_URL === null
          ? null
          : {
              url: v.AAI_URL,
              version: v.AAI_VERSION,
              user: v.AAI_USER,
              password: v.AAI_PASSWORD,
              applicationId: v.AAI_APP_ID,
              includeKinds: v.AAI_INCLUDE_KINDS,
              excludeKinds: v.AAI_EXCLUDE_KINDS,
            },
    },
    clusters: {
      watched: v.CLUSTERS,
      kubeconfig: v.KUBECONFIG?.split(delimiter).filter((file) => file !== '') ?? null,
    },
    git: { program: v.GIT === 'off' ? null : v.GIT, path: env.PATH ?? '', directory: v.GIT_DIRECTORY },
    logLevel: v.LOG_LEVEL,
    auth: {
      device: {
        methods: v.DEVICE_AUTH ?? ['open'],
        provision: v.DEVICE_PROVISION,
        jwt:
          v.DEVICE_JWT_JWKS_URL === null && v.DEVICE_JWT_SECRET === null
            ? null
            : {
                jwksUrl: v.DEVICE_JWT_JWKS_URL,
                secret: v.DEVICE_JWT_SECRET,
                issuer: v.DEVICE_JWT_ISSUER,
                audience: v.DEVICE_JWT_AUDIENCE,
                clockSkew: v.DEVICE_JWT_CLOCK_SKEW,
                claim: v.DEVICE_JWT_CLAIM,
              },
        signature: { window: v.SIGNATURE_WINDOW },
        certificate: { trustDomains: v.SPIFFE_TRUST_DOMAIN },
      },
      api: {
        methods: v.API_AUTH ?? ['open'],
        adminKey: v.API_ADMIN_KEY,
        jwt: v.API_AUTH?.includes('jwt')
          ? {
              jwksUrl: v.API_JWT_JWKS_URL,
              secret: v.API_JWT_SECRET,
              issuer: v.API_JWT_ISSUER,
              audience: v.API_JWT_AUDIENCE,
              clockSkew: v.API_JWT_CLOCK_SKEW,
              rolesClaim: v.API_JWT_ROLES_CLAIM,
              scopesClaim: v.API_JWT_SCOPES_CLAIM,
            }
          : null,
      },
    },
  })
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Whoever opens the server to a network says so: being open to everyone there must not happen by leaving something out. */
function missingChoices(host: string, given: Environment): string[] {
  if (isLoopback(host)) return []
  return [
    ['DEVICE_AUTH', 'report'],
    ['API_AUTH', 'ask'],
  ].flatMap(([name = '', deed]) =>
    given[name] === undefined
      ? [
          `${name} must be chosen when HOST (${host}) is not a loopback address: "open" lets everyone who reaches it ${deed}`,
        ]
      : [],
  )
}

/** What the methods of API_AUTH need to work, and what would be without effect. */
function missingForApi(given: Environment, methods: readonly string[]): string[] {
  const problems: string[] = []
  if (given.API_ADMIN_KEY !== undefined && !methods.includes('key'))
    problems.push('API_ADMIN_KEY is of no use unless API_AUTH has "key"')
  if (!methods.includes('jwt')) return [...problems, ...useless(given, 'API_JWT_', 'unless API_AUTH has "jwt"')]
  if (given.API_JWT_JWKS_URL === undefined && given.API_JWT_SECRET === undefined)
    problems.push('API_AUTH has "jwt": set either API_JWT_JWKS_URL or API_JWT_SECRET')
  return [...problems, ...missingForTokens(given, 'API_JWT_')]
}

/** The same for DEVICE_AUTH. */
function missingForDevices(given: Environment, methods: readonly string[]): string[] {
  const jwt = 'DEVICE_JWT_'
  const problems = [
    ...(methods.includes('signature') ? [] : useless(given, 'SIGNATURE_', 'unless DEVICE_AUTH has "signature"')),
    ...(methods.includes('mtls')
      ? missingForCertificates(given)
      : useless(given, 'SPIFFE_', 'unless DEVICE_AUTH has "mtls"')),
  ]
  if (!methods.includes('token')) return [...problems, ...useless(given, jwt, 'unless DEVICE_AUTH has "token"')]
  problems.push(...missingForTokens(given, jwt))
  if (given.DEVICE_JWT_JWKS_URL === undefined && given.DEVICE_JWT_SECRET === undefined)
    problems.push(...useless(given, jwt, 'without DEVICE_JWT_JWKS_URL or DEVICE_JWT_SECRET'))
  return problems
}

function missingForCertificates(given: Environment): string[] {
  return given.TLS_CLIENT_CA === undefined && given.TRUSTED_PROXIES === undefined
    ? [
        'DEVICE_AUTH has "mtls": set TLS_CERT, TLS_KEY and TLS_CLIENT_CA, or TRUSTED_PROXIES if a proxy forwards certificates (Client-Cert)',
      ]
    : []
}

function missingForTls(given: Environment): string[] {
  const [cert, key] = [given.TLS_CERT, given.TLS_KEY]
  if (cert !== undefined && key !== undefined) return []
  if (cert !== undefined || key !== undefined) return ['TLS_CERT and TLS_KEY belong together: set both']
  return given.TLS_CLIENT_CA === undefined ? [] : ['TLS_CLIENT_CA is of no use without TLS_CERT and TLS_KEY']
}

function missingForTokens(given: Environment, prefix: string): string[] {
  const [jwks, secretKey] = [given[`${prefix}JWKS_URL`], given[`${prefix}SECRET`]]
  const problems: string[] = []
  if (jwks !== undefined && secretKey !== undefined)
    problems.push(`${prefix}JWKS_URL and ${prefix}SECRET are both set: set either`)
  if (jwks !== undefined && (given[`${prefix}ISSUER`] === undefined || given[`${prefix}AUDIENCE`] === undefined))
    problems.push(
      `${prefix}JWKS_URL needs ${prefix}ISSUER and ${prefix}AUDIENCE: those keys sign tokens for others, too`,
    )
  return problems
}

/** Whoever sets it expects it to be in force. */
function useless(given: Environment, prefix: string, why: string): string[] {
  return variables
    .filter((name) => name.startsWith(prefix) && given[name] !== undefined)
    .map((name) => `${name} is of no use ${why}`)
}

function methodsOf(text = ''): readonly string[] {
  return listOf(text)
}

function anyOf<Method extends string>(offered: readonly Method[]) {
  const known = offered.map((method) => `"${method}"`).join(', ')
  const expected = offered.length > 1 ? `any of ${known}` : known
  return z.string().transform((text, context): readonly Method[] => {
    const methods = listOf(text)
    if (methods.length === 0) context.addIssue(`must be ${expected}, but is ${JSON.stringify(text)}`)
    return methods.flatMap((method) => {
      const found = offered.find((one) => one === method)
      if (found !== undefined) return [found]
      context.addIssue(`must be ${expected}, but is "${method}"`)
      return []
    })
  })
}

/** Its value is never repeated. */
function secret(length: number) {
  return z.string().refine((text) => text.length >= length, { error: `must have at least ${length} characters` })
}

function setting<T>(expected: string, parse: (text: string) => T | null) {
  return z.string().transform((text, context): T => {
    const value = parse(text)
    if (value !== null) return value
    context.addIssue(`must be ${expected}, but is ${JSON.stringify(text)}`)
    return z.NEVER
  })
}

function numberUnlessOff(text: string): number | null {
  return text === 'off' ? null : Number(text)
}

function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function isAddressOrRange(text: string): boolean {
  const [address = '', prefix = '0', ...more] = text.split('/')
  const family = isIP(address)
  return family !== 0 && more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
}

function isNumber(text: string, least: number, most: number): boolean {
  return /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && isWeb(url) && url.origin === text
}

function isWeb(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:'
}

function freeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freeze(part)
  return Object.freeze(value)
}
