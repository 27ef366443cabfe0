/** Rules between variables: which ones require or exclude each other, and which have no safe default. */
import { isIPv4 } from 'node:net'
import { archiveProblems } from './archive.ts'
import { identityProblems } from './identity.ts'
import { upstreamProblems } from './upstream.ts'
import { listOf } from './values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables that miss a counterpart, contradict another one, or have no effect. */
export function contradictionsIn(given: Environment): string[] {
  return [
    ...missingChoices(given.HOST ?? '127.0.0.1', given),
    ...(given.HISTORY_DAYS === undefined ? ineffective(given, 'ARCHIVE', 'without HISTORY_DAYS') : []),
    ...(given.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
      ? ineffective(given, 'TRACE_REQUESTS', 'without OTEL_EXPORTER_OTLP_ENDPOINT')
      : []),
    ...(given.AAI_URL === undefined ? ineffective(given, 'AAI_', 'without AAI_URL') : []),
    ...archiveProblems(given),
    ...missingForDatabase(given),
    ...missingForTls(given),
    ...missingForProxies(given),
    ...missingForMqtt(given),
    ...missingForApi(given, listOf(given.API_AUTH ?? '')),
    ...missingForOidc(given),
    ...missingForDevices(given, listOf(given.DEVICE_AUTH ?? '')),
    ...identityProblems(given, listOf(given.DEVICE_AUTH ?? '')),
    ...sharedTokens(given),
    ...upstreamProblems(given),
  ]
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** A server on a network has no default authentication: an omitted variable must not open it to everyone. */
function missingChoices(host: string, given: Environment): string[] {
  if (isLoopback(host)) return []
  return [
    ['DEVICE_AUTH', 'report'],
    ['API_AUTH', 'query and change'],
  ].flatMap(([name = '', right]) =>
    given[name] === undefined && !(name === 'API_AUTH' && given.OIDC_ISSUER !== undefined)
      ? [
          `${name} must be set when HOST (${host}) is not a loopback address: "open" lets every client that reaches it ${right}`,
        ]
      : [],
  )
}

/** Variables that the methods of API_AUTH require, and variables without effect. */
function missingForApi(given: Environment, methods: readonly string[]): string[] {
  const problems: string[] = []
  if (given.API_ADMIN_KEY !== undefined && !methods.includes('key'))
    problems.push('API_ADMIN_KEY has no effect unless API_AUTH has "key"')
  if (!methods.includes('jwt')) return [...problems, ...ineffective(given, 'API_JWT_', 'unless API_AUTH has "jwt"')]
  if (given.API_JWT_JWKS_URL === undefined && given.API_JWT_SECRET === undefined)
    problems.push('API_AUTH has "jwt": set either API_JWT_JWKS_URL or API_JWT_SECRET')
  return [...problems, ...missingForTokens(given, 'API_JWT_')]
}

function missingForOidc(given: Environment): string[] {
  if (given.OIDC_ISSUER === undefined) return ineffective(given, 'OIDC_', 'without OIDC_ISSUER')
  const problems = ['OIDC_CLIENT_ID', 'OIDC_ROLES'].flatMap((name) =>
    given[name] === undefined ? [`${name} is required by OIDC_ISSUER`] : [],
  )
  problems.push(...problemsOfTenants(given.OIDC_ISSUER, given.OIDC_TENANTS))
  // The issuer sends browsers back to this address, so a request must not choose it.
  if (given.PUBLIC_URL === undefined && !isLoopback(given.HOST ?? '127.0.0.1'))
    problems.push('PUBLIC_URL is required by OIDC_ISSUER: the issuer sends browsers back to it')
  return problems
}

/** Such an issuer signs in persons of any tenant, and anyone can have one. `consumers` has one tenant, whose ID its metadata and its tokens name. */
const ofManyTenants = /^https:\/\/login\.microsoftonline\.com\/(common|organizations)\//

function problemsOfTenants(issuer: string, tenants: string | undefined): string[] {
  if (ofManyTenants.test(issuer) === (tenants !== undefined)) return []
  return tenants === undefined
    ? ['OIDC_TENANTS is required by OIDC_ISSUER, which signs in persons of every tenant']
    : [
        'OIDC_TENANTS has no effect unless OIDC_ISSUER is https://login.microsoftonline.com/organizations/v2.0 or …/common/v2.0',
      ]
}

/** Variables that the methods of DEVICE_AUTH require, and variables without effect. */
function missingForDevices(given: Environment, methods: readonly string[]): string[] {
  const jwt = 'DEVICE_JWT_'
  const problems = [
    ...(methods.includes('signature') ? [] : ineffective(given, 'SIGNATURE_', 'unless DEVICE_AUTH has "signature"')),
    ...(methods.includes('mtls')
      ? missingForCertificates(given)
      : ineffective(given, 'SPIFFE_TRUST_', 'unless DEVICE_AUTH has "mtls"')),
  ]
  if (!methods.includes('token')) return [...problems, ...ineffective(given, jwt, 'unless DEVICE_AUTH has "token"')]
  problems.push(...missingForTokens(given, jwt))
  if (given.DEVICE_JWT_JWKS_URL === undefined && given.DEVICE_JWT_SECRET === undefined)
    problems.push(...ineffective(given, jwt, 'without DEVICE_JWT_JWKS_URL or DEVICE_JWT_SECRET'))
  return problems
}

/**
 * Behind a proxy that passes on the Client-Cert of its clients, any client can claim to be any device. A server cannot detect such a
 * proxy, so the operator has to declare it. A shared secret was rejected: such a proxy sends the secret along with the forged header.
 */
function missingForCertificates(given: Environment): string[] {
  const [proxies, header] = [given.TRUSTED_PROXIES, given.CLIENT_CERT_HEADER]
  const ca = given.TLS_CLIENT_CA ?? (given.TLS_CERT && given.IDENTITY_SERVICE)
  if (proxies !== undefined && header === undefined)
    return [
      'DEVICE_AUTH has "mtls" behind TRUSTED_PROXIES: set CLIENT_CERT_HEADER to "overwritten" if each of these proxies replaces or removes the Client-Cert that its clients send (deploy/nginx.conf does), or to "refused" if no proxy forwards certificates',
    ]
  return ca === undefined && (proxies === undefined || header === 'refused')
    ? [
        'DEVICE_AUTH has "mtls": set TLS_CERT, TLS_KEY and TLS_CLIENT_CA (or IDENTITY_SERVICE), or TRUSTED_PROXIES and CLIENT_CERT_HEADER=overwritten if a proxy forwards certificates (Client-Cert)',
      ]
    : []
}

function missingForProxies({ TRUSTED_PROXIES: proxies, CLIENT_CERT_HEADER: header }: Environment): string[] {
  return header !== undefined && proxies === undefined
    ? ['CLIENT_CERT_HEADER has no effect without TRUSTED_PROXIES']
    : []
}

function missingForDatabase({ DATABASE_URL: url, ...given }: Environment): string[] {
  const isEmbedded = url === undefined
  const problems = isEmbedded ? ineffective(given, 'DATABASE_PASSWORD', 'without DATABASE_URL') : []
  if (given.DATABASE_READ_URL === undefined)
    problems.push(...ineffective(given, 'DATABASE_READ_LAG', 'without DATABASE_READ_URL'))
  else if (isEmbedded) problems.push('DATABASE_READ_URL requires DATABASE_URL: the primary of these standbys')
  return problems
}

function missingForMqtt(given: Environment): string[] {
  if (given.MQTT_URL === undefined) return ineffective(given, 'MQTT_', 'without MQTT_URL')
  return (given.MQTT_CERT === undefined) === (given.MQTT_KEY === undefined)
    ? []
    : ['MQTT_CERT and MQTT_KEY require each other: set both']
}

function missingForTls(given: Environment): string[] {
  const [cert, key] = [given.TLS_CERT, given.TLS_KEY]
  if (cert !== undefined && key !== undefined) return []
  if (cert !== undefined || key !== undefined) return ['TLS_CERT and TLS_KEY require each other: set both']
  return given.TLS_CLIENT_CA === undefined ? [] : ['TLS_CLIENT_CA has no effect without TLS_CERT and TLS_KEY']
}

function missingForTokens(given: Environment, prefix: string): string[] {
  const [jwks, secretKey] = [given[`${prefix}JWKS_URL`], given[`${prefix}SECRET`]]
  const problems: string[] = []
  if (jwks !== undefined && secretKey !== undefined)
    problems.push(`${prefix}JWKS_URL and ${prefix}SECRET are both set: remove one of them`)
  if (jwks !== undefined && (given[`${prefix}ISSUER`] === undefined || given[`${prefix}AUDIENCE`] === undefined))
    problems.push(
      `${prefix}JWKS_URL requires ${prefix}ISSUER and ${prefix}AUDIENCE: its keys also sign tokens for other services`,
    )
  return problems
}

/** A token of a caller would be one of the device that its subject names, and a device could present its token as a caller. */
function sharedTokens(given: Environment): string[] {
  const isShared = (name: string): boolean => given[`API_JWT_${name}`] === given[`DEVICE_JWT_${name}`]
  const hasKeys = ['JWKS_URL', 'SECRET'].some((name) => given[`API_JWT_${name}`] !== undefined && isShared(name))
  return hasKeys && isShared('ISSUER') && isShared('AUDIENCE')
    ? ['DEVICE_JWT_AUDIENCE must differ from API_JWT_AUDIENCE: the same keys sign tokens of callers and of devices']
    : []
}

/** A variable without effect is an error: its operator expects it to be in force. */
function ineffective(given: Environment, prefix: string, why: string): string[] {
  return Object.keys(given)
    .filter((name) => name.startsWith(prefix) && given[name] !== undefined)
    .map((name) => `${name} has no effect ${why}`)
}
