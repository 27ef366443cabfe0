/** Which variables of the environment need each other, and which must be chosen. */
import { isIPv4 } from 'node:net'
import { listOf } from './config-values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Problems of what is set, with what is missing beside it or has no effect. */
export function contradictionsIn(given: Environment): string[] {
  return [
    ...missingChoices(given.HOST ?? '127.0.0.1', given),
    ...missingForTls(given),
    ...missingForApi(given, listOf(given.API_AUTH ?? '')),
    ...missingForDevices(given, listOf(given.DEVICE_AUTH ?? '')),
  ]
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
  return Object.keys(given)
    .filter((name) => name.startsWith(prefix) && given[name] !== undefined)
    .map((name) => `${name} is of no use ${why}`)
}
