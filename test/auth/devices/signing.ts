/** A client that signs its messages, with Node's own cryptography and no code of ours. */
import { constants, createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export interface SigningKey {
  readonly alg: string
  /** PEM. */
  readonly publicKey: string
  readonly keyId: string
  sign(base: string): Buffer
}

function signingKey(
  alg: string,
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject },
  signBytes: (data: Buffer, key: KeyObject) => Buffer,
): SigningKey {
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return {
    alg,
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    keyId: createHash('sha256').update(der).digest('hex'),
    sign: (base) => signBytes(Buffer.from(base), privateKey),
  }
}

export const newKey = {
  'ecdsa-p256-sha256': () =>
    signingKey('ecdsa-p256-sha256', generateKeyPairSync('ec', { namedCurve: 'P-256' }), (data, key) =>
      sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }),
    ),
  'rsa-v1_5-sha256': () =>
    signingKey('rsa-v1_5-sha256', generateKeyPairSync('rsa', { modulusLength: 2048 }), (data, key) =>
      sign('sha256', data, key),
    ),
  'rsa-pss-sha512': () =>
    signingKey('rsa-pss-sha512', generateKeyPairSync('rsa', { modulusLength: 2048 }), (data, key) =>
      sign('sha512', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 }),
    ),
  ed25519: () => signingKey('ed25519', generateKeyPairSync('ed25519'), (data, key) => sign(null, data, key)),
}

export interface SigningOptions {
  readonly url: string
  readonly method?: string
  readonly body: string | Uint8Array
  readonly components?: readonly string[]
  /** Parameters after the components; what is null is left out. */
  readonly parameters?: Readonly<Record<string, string | number | null>>
  readonly digest?: string | null
}

export const digestOf = (body: string | Uint8Array, name = 'sha-256') =>
  `${name}=:${createHash(name.replace('-', '')).update(body).digest('base64')}:`

export const seconds = () => Math.floor(Date.now() / 1000)

/** The headers of what a Margo client of 2026 would send; a POST unless it says otherwise. */
export function signed(key: SigningKey, options: SigningOptions): Record<string, string> {
  const { body, components = ['@method', '@target-uri', '@authority', 'content-digest'] } = options
  const url = new URL(options.url)
  const digest = options.digest === undefined ? digestOf(body) : options.digest
  const values: Record<string, string> = {
    '@method': options.method ?? 'POST',
    '@target-uri': options.url,
    '@authority': url.host,
    '@path': url.pathname,
    'content-digest': digest ?? '',
    'content-type': 'application/json',
  }
  const parameters = Object.entries({ created: seconds(), keyid: key.keyId, ...options.parameters }).flatMap(
    ([name, value]) => (value === null ? [] : [`;${name}=${typeof value === 'string' ? `"${value}"` : value}`]),
  )
  const input = `(${components.map((name) => `"${name}"`).join(' ')})${parameters.join('')}`
  const base = [...components.map((name) => `"${name}": ${values[name]}`), `"@signature-params": ${input}`].join('\n')
  return {
    ...(digest === null ? {} : { 'content-digest': digest }),
    'signature-input': `sig1=${input}`,
    signature: `sig1=:${key.sign(base).toString('base64')}:`,
  }
}
