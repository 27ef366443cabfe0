/**
 * Secrets in files: `NAME_FILE` names a file with the value of `NAME`. Secrets of Kubernetes and Docker, and credentials of systemd, are files: unlike
 * the environment, they are not shown by `docker inspect` or in a crash report, and no child process inherits them.
 */
import { readFileSync, statSync } from 'node:fs'
import type { Environment } from './rules.ts'

/** Those that are a secret, or contain one. */
export const secretVariables: readonly string[] = [
  'DATABASE_URL',
  'DATABASE_PASSWORD',
  'DATABASE_READ_URL',
  'API_ADMIN_KEY',
  'API_JWT_SECRET',
  'DEVICE_JWT_SECRET',
  'OIDC_CLIENT_SECRET',
  'MQTT_PASSWORD',
  'AAI_PASSWORD',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'UPSTREAM_TOKEN',
]

export const secretFileVariables: readonly string[] = secretVariables.map((name) => `${name}_FILE`)

/** Bytes. A path may lead to a file that never ends. */
const largest = 65_536

/** The environment with the secrets of its files, and why a file cannot be used. */
export function readSecretFiles(env: Environment): { readonly given: Environment; readonly problems: string[] } {
  const given = { ...env }
  const problems = secretVariables.flatMap((name) => {
    const variable = `${name}_FILE`
    const path = env[variable]?.trim()
    if (!path) return []
    if (env[name]?.trim()) return [`${name} and ${variable} are both set: remove one of them`]
    const read = readSecret(path)
    if ('problem' in read) return [`${variable} names ${read.problem}`]
    given[name] = read.secret
    return []
  })
  return { given, problems }
}

function readSecret(path: string): { readonly secret: string } | { readonly problem: string } {
  try {
    const file = statSync(path)
    if (!file.isFile()) return { problem: 'no regular file' }
    if (file.size > largest) return { problem: `a file of more than ${largest} bytes` }
    const secret = readFileSync(path, 'utf8').trim()
    return secret === '' ? { problem: 'an empty file' } : { secret }
  } catch (error) {
    return { problem: `a file that cannot be read (${(error as NodeJS.ErrnoException).code})` }
  }
}
