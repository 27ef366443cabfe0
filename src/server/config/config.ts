/** Parses the environment once and reports every problem in one message. No other module reads the environment. */
import { delimiter } from 'node:path'
import { z } from 'zod'
import type { ApiAuthConfig } from '../../api/auth/api/api-auth.ts'
import type { DeviceAuthConfig } from '../../api/auth/devices/device-auth.ts'
import type { GitConfig } from '../../api/git/git.ts'
import type { TlsConfig } from '../../api/rest/tls/tls-files.ts'
import type { ClustersConfig } from '../../ingest/clusters/clusters.ts'
import { ConfigError } from '../../platform/config-error.ts'
import { defaultLimits, type LimitsConfig } from '../../platform/limits/limits.ts'
import type { LogLevel } from '../../platform/log/log.ts'
import type { StoreConfig } from '../../store/open.ts'
import { origins, proxies, publicUrl } from './addresses.ts'
import { apiAuthOf, apiMethodsOf, apiVariables, oidcOf, oidcProblems } from './api.ts'
import { archiveConfig, archiveVariables } from './archive.ts'
import { databaseVariables, storeConfig } from './database.ts'
import { deviceAuthConfig, deviceAuthVariables } from './device-auth.ts'
import { identityConfig, identityVariables, minVersionOf } from './identity.ts'
import { mqttConfig, mqttVariables } from './mqtt.ts'
import { contradictionsIn, type Environment, isLoopback } from './rules.ts'
import { readSecretFiles } from './secret-files.ts'
import { type SinksConfig, sinksConfig, sinksVariables } from './sinks.ts'
import { tracesConfig, tracesVariables } from './traces.ts'
import { upstreamConfig, upstreamVariables } from './upstream.ts'
import {
  certificateHeader,
  clusters,
  cost,
  days,
  depth,
  factor,
  flag,
  freeze,
  logLevel,
  mebibytes,
  metricsRollouts,
  numberUnlessOff,
  operationSeconds,
  port,
  processes,
  rate,
  seconds,
  secondsOrOff,
  streams,
} from './values.ts'

export interface Config {
  readonly server: {
    readonly host: string
    /** 0: any free port. */
    readonly port: number
    /** The URL at which clients reach this server, without a trailing slash; null: the address that it listens on. */
    readonly publicUrl: string | null
    readonly corsOrigins: readonly string[]
    readonly graphiql: boolean
    /** Whether callers may read the schema by introspection. */
    readonly introspection: boolean
    /** A file of the only documents that are executed; null: any document. */
    readonly persistedDocuments: string | null
    /** Addresses and ranges of proxies whose `X-Forwarded-For` is trusted. */
    readonly trustedProxies: readonly string[]
    /** Whether callers or devices need no credential, and HOST is a loopback address. */
    readonly isOpenOnLoopback: boolean
    /** Null: plain HTTP. */
    readonly tls: TlsConfig | null
  }
  readonly limits: LimitsConfig
  readonly store: StoreConfig
  /** Days; null: for ever. */
  readonly retention: { readonly historyDays: number | null; readonly forgetRemovedDays: number | null }
  /** Where copies of what retention removes are. Null: none is made. */
  readonly archive: ReturnType<typeof archiveConfig>
  /** Whether a report is refused that could only be taken otherwise than sent. */
  readonly strictReports: boolean
  /** Seconds of silence after which any device counts as OFFLINE; null: silence proves nothing. */
  readonly offlineAfter: number | null
  /** When a deployment stalls: a factor of its peers' 95th percentile, and seconds where too few peers completed; null: not judged. */
  readonly stalling: { readonly factor: number | null; readonly after: number | null }
  /** A YAML file of alert rules; null: rules come from the API only. */
  readonly alertRules: string | null
  /** Newest rollouts with series of their own in /metrics. */
  readonly metricsRollouts: number
  readonly sinks: SinksConfig
  readonly clusters: ClustersConfig
  readonly git: GitConfig
  /** What assistants may do over /mcp. Null: there is no such route. */
  readonly mcp: { readonly isWriting: boolean } | null
  /** Null: no MQTT. */
  readonly mqtt: ReturnType<typeof mqttConfig>
  /** Null: no traces are exported. */
  readonly traces: ReturnType<typeof tracesConfig>
  /** Null: there is no server above this one. */
  readonly upstream: ReturnType<typeof upstreamConfig>
  readonly logLevel: LogLevel
  readonly auth: {
    readonly device: DeviceAuthConfig
    readonly api: ApiAuthConfig
    /** Null: no sign-in with an OIDC issuer. */
    readonly oidc: ReturnType<typeof oidcOf>
    /** Null: no identity service names the authorities of devices' certificates. */
    readonly identity: ReturnType<typeof identityConfig>
  }
}

/** Milliseconds. The server's own reads do not end at a shorter OPERATION_TIMEOUT. */
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
  CLIENT_CERT_HEADER: certificateHeader.default('refused'),
  TLS_CERT: z.string().nullable().default(null),
  TLS_KEY: z.string().nullable().default(null),
  TLS_CLIENT_CA: z.string().nullable().default(null),
  MAX_DEPTH: depth.default(20),
  MAX_COST: cost.default(500_000),
  OPERATION_TIMEOUT: operationSeconds.default(15),
  MAX_STREAMS: streams.optional(),
  MAX_BUFFERED: mebibytes.default(defaultLimits.buffered / 2 ** 20),
  ADDRESS_RATE: rate.optional(),
  DEVICE_RATE: rate.optional(),
  ...databaseVariables,
  HISTORY_DAYS: days.nullable().default(null),
  ...archiveVariables,
  FORGET_REMOVED_DAYS: days.nullable().default(null),
  STRICT_REPORTS: flag.default(false),
  OFFLINE_AFTER: seconds.nullable().default(null),
  STALLED_FACTOR: factor.default('3'),
  STALLED_AFTER: secondsOrOff.default('3600'),
  ALERT_RULES: z.string().nullable().default(null),
  METRICS_ROLLOUTS: metricsRollouts.default(20),
  ...sinksVariables,
  CLUSTERS: clusters.default([]),
  KUBECONFIG: z.string().nullable().default(null),
  GIT: z.string().default('git'),
  GIT_DIRECTORY: z.string().nullable().default(null),
  GIT_PROCESSES: processes.default(defaultLimits.git.processes),
  MCP: flag.optional(),
  MCP_WRITE: flag.default(false),
  ...mqttVariables,
  ...tracesVariables,
  ...upstreamVariables,
  LOG_LEVEL: logLevel.default('info'),
  ...deviceAuthVariables,
  ...identityVariables,
  ...apiVariables,
})

type Given = z.infer<typeof environment>

/** Every variable; a test compares the tables in README.md and docs/configuration.md with it. */
export const variables: readonly string[] = Object.keys(environment.shape)

/** Throws a ConfigError with all problems. An empty variable counts as unset; unknown variables are ignored. */
export function parseConfig(env: Environment): Config {
  const { given: all, problems } = readSecretFiles(env)
  const given = Object.fromEntries(variables.map((name) => [name, all[name]?.trim() || undefined]))
  const parsed = environment.safeParse(given)
  problems.push(...(parsed.error?.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`) ?? []))
  problems.push(...contradictionsIn(given), ...(parsed.success ? oidcProblems(parsed.data) : []))
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems)
  const v = parsed.data
  const graphiql = v.GRAPHIQL ?? isLoopback(v.HOST)
  const hasMcp = v.MCP ?? isLoopback(v.HOST)
  const isOpen = (methods: readonly string[] = ['open']): boolean => methods.includes('open')
  // On the developer's own machine there are no rate limits.
  const [deviceIsOpen, apiIsOpen] = [isOpen(v.DEVICE_AUTH), isOpen(apiMethodsOf(v))]
  const isLocalAndOpen = isLoopback(v.HOST) && deviceIsOpen && apiIsOpen
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
      isOpenOnLoopback: isLoopback(v.HOST) && (deviceIsOpen || apiIsOpen),
      tls: tlsOf(v),
    },
    limits: {
      operation: { depth: v.MAX_DEPTH, cost: v.MAX_COST, time: v.OPERATION_TIMEOUT * 1_000 },
      rates: {
        address: numberUnlessOff(v.ADDRESS_RATE ?? (isLocalAndOpen ? 'off' : '1000')),
        device: numberUnlessOff(v.DEVICE_RATE ?? (isLocalAndOpen ? 'off' : '50')),
      },
      streams: numberUnlessOff(v.MAX_STREAMS ?? (isLocalAndOpen ? 'off' : '1000')),
      git: { ...defaultLimits.git, processes: v.GIT_PROCESSES },
      buffered: v.MAX_BUFFERED * 2 ** 20,
    },
    store: storeConfig(v, env, Math.max(v.OPERATION_TIMEOUT * 1_000, leastReadLimit)),
    retention: { historyDays: v.HISTORY_DAYS, forgetRemovedDays: v.FORGET_REMOVED_DAYS },
    archive: archiveConfig(v),
    strictReports: v.STRICT_REPORTS,
    offlineAfter: v.OFFLINE_AFTER,
    stalling: { factor: numberUnlessOff(v.STALLED_FACTOR), after: numberUnlessOff(v.STALLED_AFTER) },
    alertRules: v.ALERT_RULES,
    metricsRollouts: v.METRICS_ROLLOUTS,
    sinks: sinksConfig(v),
    clusters: {
      watched: v.CLUSTERS,
      kubeconfig: v.KUBECONFIG?.split(delimiter).filter((file) => file !== '') ?? null,
    },
    git: { program: v.GIT === 'off' ? null : v.GIT, path: env.PATH ?? '', directory: v.GIT_DIRECTORY },
    mcp: hasMcp ? { isWriting: v.MCP_WRITE } : null,
    mqtt: mqttConfig(v),
    traces: tracesConfig(v),
    upstream: upstreamConfig(v),
    logLevel: v.LOG_LEVEL,
    auth: {
      device: deviceAuthConfig(v),
      api: apiAuthOf(v),
      oidc: oidcOf(v, hasMcp && v.PUBLIC_URL !== null ? `${v.PUBLIC_URL}/mcp` : null),
      identity: identityConfig(v),
    },
  })
}

function tlsOf(v: Given): TlsConfig | null {
  if (v.TLS_CERT === null || v.TLS_KEY === null) return null
  return { cert: v.TLS_CERT, key: v.TLS_KEY, clientCa: v.TLS_CLIENT_CA, minVersion: minVersionOf(v) }
}
