/** The files that TLS needs, read once at the start: what is wrong with any of them is said in one message. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { ConfigError, type TlsConfig } from '../config.ts'

export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** Who signs certificates of devices; null: none are asked for. */
  readonly clientCa: string | null
}

/** Throws a ConfigError. */
export async function readTls({ cert, key, clientCa }: TlsConfig): Promise<TlsFiles> {
  const problems: string[] = []
  const read = async (name: string, path: string): Promise<string> =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      problems.push(`${name} cannot be read: ${path} (${error.code ?? error.message})`)
      return ''
    })
  const files = {
    cert: await read('TLS_CERT', cert),
    key: await read('TLS_KEY', key),
    clientCa: clientCa === null ? null : await read('TLS_CLIENT_CA', clientCa),
  }
  if (problems.length === 0) {
    if (!isUsable({ cert: files.cert, key: files.key }))
      problems.push('TLS_CERT and TLS_KEY must be a certificate and its private key, without a password, in PEM')
    if (files.clientCa !== null && !isCertificate(files.clientCa))
      problems.push('TLS_CLIENT_CA must be one or more certificates in PEM')
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return files
}

function isUsable(files: { readonly cert: string; readonly key: string }): boolean {
  try {
    createSecureContext(files)
    return isCertificate(files.cert)
  } catch {
    return false
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

/** The topmost of the chain, if it is an authority's: in PEM. */
export function authorityOf(chain: string): string | null {
  const top = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1)
  return top !== undefined && new X509Certificate(top).ca ? `${top}\n` : null
}
