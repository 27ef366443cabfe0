/** The test cases of RFC 9421, appendix B.2, with the public keys of its appendix B.1. */
import { constants, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  algorithmsOf,
  coveredBy,
  isSignedBy,
  type Message,
  readSignatures,
  type SignatureAlgorithm,
  signatureBase,
} from '../../../src/api/auth/devices/http-signature.ts'

const rsaPss = createPublicKey(`-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2
+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry53mm+
oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHq
gDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5W
Utzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4
aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI
2wIDAQAB
-----END PUBLIC KEY-----`)
const p256 = createPublicKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: 'qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA',
    y: 'Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0',
  },
})
const ed25519 = createPublicKey({
  format: 'jwk',
  key: { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' },
})

const requestFields = {
  host: 'example.com',
  date: 'Tue, 20 Apr 2021 02:07:55 GMT',
  'content-type': 'application/json',
  'content-digest':
    'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:',
  'content-length': '18',
}
const responseFields = {
  date: 'Tue, 20 Apr 2021 02:07:56 GMT',
  'content-type': 'application/json',
  'content-digest':
    'sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:',
  'content-length': '23',
}

interface Signed {
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  readonly derived?: Readonly<Record<string, string>>
  readonly query?: string
}

const request = (more: Record<string, string | readonly string[]> = {}): Signed => ({
  fields: { ...requestFields, ...more },
  query: 'param=Value&Pet=dog',
  derived: {
    '@method': 'POST',
    '@path': '/foo',
    '@query': '?param=Value&Pet=dog',
    '@authority': 'example.com',
    '@target-uri': 'https://example.com/foo?param=Value&Pet=dog',
  },
})

const messageOf = ({ fields, derived = {}, query = '' }: Signed): Message => ({
  derived: new Map(Object.entries(derived)),
  query: new URLSearchParams(query),
  field: (name) => [fields[name] ?? []].flat(),
})

const fits = (signed: Signed, key: KeyObject, algorithm: SignatureAlgorithm): boolean => {
  const message = messageOf(signed)
  return readSignatures(message).every(({ input, signature }) =>
    isSignedBy(key, algorithm, signatureBase(message, input), signature),
  )
}

interface Vector {
  readonly name: string
  readonly signed: Signed
  readonly key: KeyObject
  readonly algorithm: SignatureAlgorithm
  /** A field or component that it covers, to be changed. */
  readonly covers: string | null
}

const vectors: readonly Vector[] = [
  {
    name: 'B.2.1, minimal, rsa-pss-sha512',
    key: rsaPss,
    algorithm: 'rsa-pss-sha512',
    covers: null,
    signed: request({
      'signature-input': 'sig-b21=();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"',
      signature:
        'sig-b21=:d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q==:',
    }),
  },
  {
    name: 'B.2.2, selected components, rsa-pss-sha512',
    key: rsaPss,
    algorithm: 'rsa-pss-sha512',
    covers: 'content-digest',
    signed: request({
      'signature-input':
        'sig-b22=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss";tag="header-example"',
      signature:
        'sig-b22=:LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkSowOB4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkjqpcAoFqWFQh62s7Cl+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//0RoKUqiYY8Bh0aaUEb0rQl3/XaVe4bXTugEjHSw==:',
    }),
  },
  {
    name: 'B.2.3, full coverage, rsa-pss-sha512',
    key: rsaPss,
    algorithm: 'rsa-pss-sha512',
    covers: '@query',
    signed: request({
      'signature-input':
        'sig-b23=("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"',
      signature:
        'sig-b23=:bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA==:',
    }),
  },
  {
    name: 'B.2.4, a response, ecdsa-p256-sha256',
    key: p256,
    algorithm: 'ecdsa-p256-sha256',
    covers: 'content-length',
    signed: {
      derived: { '@status': '200' },
      fields: {
        ...responseFields,
        'signature-input':
          'sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"',
        signature: 'sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:',
      },
    },
  },
  {
    name: 'B.2.6, ed25519',
    key: ed25519,
    algorithm: 'ed25519',
    covers: '@path',
    signed: request({
      'signature-input':
        'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
      signature: 'sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:',
    }),
  },
]

describe.each(vectors)('$name', ({ signed, key, algorithm, covers }) => {
  it('fits its key, and no other of the kinds that are taken', () => {
    expect(fits(signed, key, algorithm)).toBe(true)
    expect(algorithmsOf(key)).toContain(algorithm)
    const stranger =
      algorithm === 'ed25519'
        ? generateKeyPairSync('ed25519')
        : algorithm === 'ecdsa-p256-sha256'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : generateKeyPairSync('rsa', { modulusLength: 2048 })
    expect(fits(signed, stranger.publicKey, algorithm)).toBe(false)
  })

  it('does not fit when anything that it covers is another', () => {
    const later = signed.fields['signature-input']?.toString().replace('1618884473', '1618884474') ?? ''
    expect(fits({ ...signed, fields: { ...signed.fields, 'signature-input': later } }, key, algorithm)).toBe(false)
    if (covers === null) return
    const changed = covers.startsWith('@')
      ? { ...signed, derived: { ...signed.derived, [covers]: 'another' } }
      : { ...signed, fields: { ...signed.fields, [covers]: 'another' } }
    expect(fits(changed, key, algorithm)).toBe(false)
  })
})

describe('the lines that are signed', () => {
  it('are those that the RFC shows', () => {
    const message = messageOf(vectors[1]?.signed ?? request())
    const [only] = readSignatures(message)
    expect(only && signatureBase(message, only.input)).toBe(
      [
        '"@authority": example.com',
        `"content-digest": ${requestFields['content-digest']}`,
        '"@query-param";name="Pet": dog',
        '"@signature-params": ("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss";tag="header-example"',
      ].join('\n'),
    )
    expect(only && [...coveredBy(only.input)]).toEqual(['@authority', 'content-digest'])
  })

  it('hold a field of several lines as one, or each of them in base64', () => {
    const message = messageOf({
      fields: {
        'x-two': [' one ', 'two, three'],
        'signature-input': 's=("x-two" "x-two";bs)',
        signature: 's=:AA==:',
      },
    })
    const [only] = readSignatures(message)
    expect(only && signatureBase(message, only.input).split('\n').slice(0, 2)).toEqual([
      '"x-two": one, two, three',
      '"x-two";bs: :b25l:, :dHdvLCB0aHJlZQ==:',
    ])
  })
})

describe('what cannot be a signature', () => {
  it.each<[string, Record<string, string>]>([
    ['without its input', { signature: 's=:AA==:' }],
    ['without its bytes', { 'signature-input': 's=("date")' }],
    ['of another label', { 'signature-input': 's=("date")', signature: 't=:AA==:' }],
    ['of text', { 'signature-input': 's=("date")', signature: 's="AA=="' }],
    ['of no list', { 'signature-input': 's="date"', signature: 's=:AA==:' }],
    ['of no dictionary', { 'signature-input': '("date"', signature: 's=:AA==:' }],
    ['of a field that is not there', { 'signature-input': 's=("x-none")', signature: 's=:AA==:' }],
    ['of a field twice', { 'signature-input': 's=("date" "date")', signature: 's=:AA==:' }],
    ['of a field in capitals', { 'signature-input': 's=("Date")', signature: 's=:AA==:' }],
    ['of an unknown component', { 'signature-input': 's=("@moon")', signature: 's=:AA==:' }],
    ['of the request of a request', { 'signature-input': 's=("@method";req)', signature: 's=:AA==:' }],
    ['of itself', { 'signature-input': 's=("@signature-params")', signature: 's=:AA==:' }],
    [
      'of a query parameter that is not there',
      { 'signature-input': 's=("@query-param";name="x")', signature: 's=:AA==:' },
    ],
    ['of a bad query parameter', { 'signature-input': 's=("@query-param";name="%")', signature: 's=:AA==:' }],
    ['of a number', { 'signature-input': 's=(1)', signature: 's=:AA==:' }],
    [
      'of too many',
      {
        'signature-input': Array.from({ length: 9 }, (_, i) => `s${i}=("date")`).join(', '),
        signature: Array.from({ length: 9 }, (_, i) => `s${i}=:AA==:`).join(', '),
      },
    ],
  ])('is refused: one %s', (_, fields) => {
    expect(() => fits(request(fields), ed25519, 'ed25519')).toThrow(
      expect.objectContaining({ name: 'SignatureSyntax' }),
    )
  })
})

describe('keys', () => {
  it.each([
    generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
    generateKeyPairSync('rsa-pss', {
      modulusLength: 2048,
      hashAlgorithm: 'sha512',
      mgf1HashAlgorithm: 'sha512',
    }),
  ])('that are for RSA-PSS only fit as such', ({ publicKey, privateKey }) => {
    expect(algorithmsOf(publicKey)).toEqual(['rsa-pss-sha512'])
    const options = { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 }
    const signature = sign('sha512', Buffer.from('said'), options)
    expect(isSignedBy(publicKey, 'rsa-pss-sha512', 'said', signature)).toBe(true)
    expect(isSignedBy(publicKey, 'rsa-pss-sha512', 'not said', signature)).toBe(false)
  })

  it('of other kinds, curves and sizes are not taken', () => {
    expect(algorithmsOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)).toEqual([])
    expect(algorithmsOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey)).toEqual([])
    expect(algorithmsOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)).toEqual([])
    expect(algorithmsOf(generateKeyPairSync('ed448').publicKey)).toEqual([])
    const other = { modulusLength: 2048, hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256' }
    expect(algorithmsOf(generateKeyPairSync('rsa-pss', other).publicKey)).toEqual([])
    expect(algorithmsOf(generateKeyPairSync('x25519').publicKey)).toEqual([])
  })
})
