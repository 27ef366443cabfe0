/** RFC 9421 without policy: the signatures of a message, their signature bases, and their verification with a key. */
import { constants, type KeyObject, verify } from 'node:crypto'
import {
  type BareItem,
  type InnerList,
  type Item,
  isInnerList,
  type Parameters,
  parseDictionary,
  serializeInnerList,
  serializeItem,
} from 'structured-headers'

export interface Message {
  /** Derived components (`@method`, `@target-uri` and so on) that the message has. */
  readonly derived: ReadonlyMap<string, string>
  /** The parameters of the query, as the client sent them. */
  readonly query: URLSearchParams
  /** All lines of a field, in order. `name` is in lower case. */
  field(name: string): readonly string[]
}

export interface MessageSignature {
  readonly label: string
  /** The member of `Signature-Input`. */
  readonly input: InnerList
  readonly parameters: Parameters
  readonly signature: Uint8Array
}

/** The signature headers of a message are malformed. */
export class SignatureSyntax extends Error {
  override readonly name = 'SignatureSyntax'
}

/** No legitimate client needs longer lists. The bounds limit the cost of hostile ones. */
const mostSignatures = 8
const mostComponents = 64

/** Throws SignatureSyntax, also for a label of `Signature-Input` that `Signature` lacks: an intermediary may have removed it. */
export function readSignatures(message: Message): MessageSignature[] {
  const inputs = dictionary(message, 'signature-input')
  const signatures = dictionary(message, 'signature')
  if (inputs.size === 0) throw new SignatureSyntax('Signature-Input is missing')
  if (inputs.size > mostSignatures) throw new SignatureSyntax(`there are more than ${mostSignatures} signatures`)
  return [...inputs].map(([label, input]) => {
    const [bytes] = signatures.get(label) ?? []
    if (!isInnerList(input)) throw new SignatureSyntax(`Signature-Input ${label} is not a list of components`)
    if (!(bytes instanceof ArrayBuffer)) throw new SignatureSyntax(`Signature has no bytes called ${label}`)
    return { label, input, parameters: input[1], signature: new Uint8Array(bytes) }
  })
}

/** The signed lines. Throws SignatureSyntax if the message lacks a component that the signature covers. */
export function signatureBase(message: Message, input: InnerList): string {
  const [components] = input
  if (components.length > mostComponents)
    throw new SignatureSyntax(`a signature covers more than ${mostComponents} components`)
  const lines = new Map<string, string>()
  for (const component of components) {
    const identifier = serializeItem(component)
    if (lines.has(identifier)) throw new SignatureSyntax(`Signature-Input lists ${identifier} twice`)
    lines.set(identifier, componentOf(message, component))
  }
  return [...lines, ['"@signature-params"', serializeInnerList(input)]].map((line) => line.join(': ')).join('\n')
}

/** The components that the signature covers whole, without parameters. An intermediary may have changed any other component. */
export function coveredBy([components]: InnerList): Set<string> {
  return new Set(components.flatMap(([name, parameters]) => (parameters.size === 0 ? [String(name)] : [])))
}

const algorithms = ['ecdsa-p256-sha256', 'rsa-v1_5-sha256', 'rsa-pss-sha512', 'ed25519'] as const
export type SignatureAlgorithm = (typeof algorithms)[number]

/** The algorithms that fit a key. Empty: the type or the size of the key is not accepted. */
export function algorithmsOf(key: KeyObject): readonly SignatureAlgorithm[] {
  const { namedCurve, modulusLength = 0, hashAlgorithm = 'sha512', saltLength = 0 } = key.asymmetricKeyDetails ?? {}
  const isLong = modulusLength >= 2048 && modulusLength <= 8192
  switch (key.asymmetricKeyType) {
    case 'ec':
      return namedCurve === 'prime256v1' ? ['ecdsa-p256-sha256'] : []
    case 'rsa':
      return isLong ? ['rsa-v1_5-sha256', 'rsa-pss-sha512'] : []
    case 'rsa-pss':
      // Such a key may restrict its hash and its salt length.
      return isLong && hashAlgorithm === 'sha512' && saltLength <= 64 ? ['rsa-pss-sha512'] : []
    case 'ed25519':
      return ['ed25519']
    default:
      return []
  }
}

export function isSignedBy(
  key: KeyObject,
  algorithm: SignatureAlgorithm,
  base: string,
  signature: Uint8Array,
): boolean {
  const data = Buffer.from(base)
  switch (algorithm) {
    case 'ecdsa-p256-sha256':
      return signature.length === 64 && verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
    case 'rsa-v1_5-sha256':
      return verify('sha256', data, { key, padding: constants.RSA_PKCS1_PADDING }, signature)
    case 'rsa-pss-sha512':
      return verify('sha512', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 }, signature)
    case 'ed25519':
      return verify(null, data, key, signature)
  }
}

function componentOf(message: Message, [name, parameters]: Item): string {
  if (typeof name !== 'string') throw new SignatureSyntax('a component of Signature-Input is not a string')
  if (name === '@query-param') return queryParameter(message, parameters.get('name'))
  if (name.startsWith('@')) {
    const value = parameters.size === 0 ? message.derived.get(name) : undefined
    if (value === undefined) throw new SignatureSyntax(`the component ${name} is not supported`)
    return value
  }
  return fieldValue(message, name, parameters)
}

function fieldValue(message: Message, name: string, parameters: Parameters): string {
  const lines = message.field(name).map((line) => line.trim())
  if (lines.length === 0) throw new SignatureSyntax(`the signature covers ${name}, and there is no such field`)
  if (name !== name.toLowerCase()) throw new SignatureSyntax(`the component ${name} must be in lower case`)
  const [only, ...more] = parameters.keys()
  if (only === undefined) return lines.join(', ')
  if (only === 'bs' && more.length === 0)
    return lines.map((line) => `:${Buffer.from(line, 'latin1').toString('base64')}:`).join(', ')
  throw new SignatureSyntax(`the component ${name} has parameters that are not supported`)
}

/** Refuses a repeated parameter: the component would be ambiguous. */
function queryParameter({ query }: Message, name: BareItem | undefined): string {
  const values = typeof name === 'string' ? query.getAll(decoded(name)) : []
  const [value, ...more] = values
  if (value === undefined || more.length > 0)
    throw new SignatureSyntax('the signature covers a @query-param that is missing or repeated')
  return encodeURIComponent(value).replaceAll(
    /[!'()~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    throw new SignatureSyntax('the name of a @query-param is not percent-encoded UTF-8')
  }
}

function dictionary(message: Message, name: string): ReturnType<typeof parseDictionary> {
  try {
    return parseDictionary(message.field(name).join(', '))
  } catch {
    throw new SignatureSyntax(`${name} is not a dictionary of structured fields`)
  }
}
