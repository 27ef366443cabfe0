/** Reads and checks the TLS files. One error lists the problems of all files. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureVersion } from 'node:tls'
import { ConfigError } from '../../../platform/config-error.ts'

/** Paths of files in PEM. */
export interface TlsConfig {
  readonly cert: string
  readonly key: string
  /** Authorities that sign devices' certificates; null: the server asks for none. */
  readonly clientCa: string | null
  /** Absent: TLS 1.2. */
  readonly minVersion?: SecureVersion
}

export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** The authorities of device certificates. Null: the server requests no client certificates. */
  readonly clientCa: string | null
}

/** Throws a ConfigError. */
export async function readTls({ cert, key, clientCa }: Omit<TlsConfig, 'minVersion'>): Promise<TlsFiles> {
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
    const broken = {
      cert: unreadableIn('TLS_CERT', files.cert),
      ca: unreadableIn('TLS_CLIENT_CA', files.clientCa ?? ''),
    }
    problems.push(...broken.cert, ...broken.ca)
    if (broken.cert.length === 0 && !isUsable(files))
      problems.push('TLS_CERT and TLS_KEY must be a certificate and its private key, without a password, in PEM')
    if (files.clientCa !== null && broken.ca.length === 0 && blocksOf(files.clientCa).length === 0)
      problems.push('TLS_CLIENT_CA must be one or more certificates in PEM')
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return files
}

/** All certificates of a file, in its order. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  return blocksOf(pem).map((block) => new X509Certificate(block))
}

/**
 * The blocks of a file, each from one BEGIN to the next, or from an END without a BEGIN. OpenSSL stops at the first unreadable certificate
 * without an error, and would refuse devices of later authorities without a reason.
 */
function blocksOf(pem: string): readonly string[] {
  const parts = pem.split(/(?=-----BEGIN )|(?<=-----END [A-Z0-9 ]+-----)/)
  return parts.filter((part) => /-----(BEGIN|END) ([A-Z0-9]+ )?CERTIFICATE-----/.test(part))
}

function unreadableIn(name: string, pem: string): readonly string[] {
  const blocks = blocksOf(pem)
  return blocks.flatMap((block, at) =>
    isCertificate(block)
      ? []
      : [`${name}: certificate ${at + 1} of ${blocks.length} cannot be read: it must be X.509 in PEM, whole`],
  )
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

function isUsable({ cert, key }: TlsFiles): boolean {
  try {
    createSecureContext({ cert, key })
    return blocksOf(cert).length > 0
  } catch {
    return false
  }
}

/** The topmost certificate of the chain in PEM, if it belongs to an authority. */
export function authorityOf(chain: string): string | null {
  const top = certificatesIn(chain).at(-1)
  return top?.ca ? top.toString() : null
}
