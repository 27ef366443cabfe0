/** The client certificate of this server, and the authority of the one above. Read again with each connection: certificates are replaced while servers run. */
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ConfigError } from '../../platform/config-error.ts'
import type { UpstreamConfig } from './config.ts'

export type Certificates = Readonly<Partial<Record<'cert' | 'key' | 'ca', Buffer>>>

/** Throws a ConfigError that names the variable. */
export function readCertificates(files: UpstreamConfig['files']): Certificates {
  const found = Object.entries(files).flatMap(([name, path]) => (path === null ? [] : [[name, read(name, path)]]))
  const certificates: Certificates = Object.fromEntries(found)
  for (const names of [['ca'], ['cert', 'key']] as const) check(names, certificates)
  return certificates
}

function read(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError([`UPSTREAM_${name.toUpperCase()} names a file that cannot be read (${code})`])
  }
}

function check(names: readonly (keyof Certificates)[], certificates: Certificates): void {
  const some = Object.fromEntries(names.flatMap((name) => (certificates[name] ? [[name, certificates[name]]] : [])))
  const variables = names.map((name) => `UPSTREAM_${name.toUpperCase()}`).join(' and ')
  try {
    // OpenSSL takes a file without a certificate for an empty list of authorities.
    if (some.ca && !some.ca.includes('-----BEGIN ')) throw new Error('it has no certificate')
    createSecureContext(some)
  } catch (error) {
    throw new ConfigError([`${variables} cannot be used: ${(error as Error).message}`])
  }
}
