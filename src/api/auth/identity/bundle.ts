/**
 * What an identity service publishes: a discovery document, which names the bundle of a trust domain (Margo); the bundle, a set of JWKs with the
 * certificates of its authorities (SPIFFE Trust Domain and Bundle §4); or a map of bundles by trust domain (§5).
 */
import { X509Certificate } from 'node:crypto'
import { memberOf } from '../../../platform/outbound/json.ts'
import { AnswerError } from '../../../platform/outbound/request.ts'
import { isUsableAuthority } from './svid.ts'

export interface Bundle {
  readonly authorities: readonly X509Certificate[]
  /** Rises with each change. Null: the service does not count. */
  readonly sequence: number | null
  /** Entries that are left out: not readable, or not the certificate of an authority with an accepted key. */
  readonly unusable: number
}

export type Published =
  | { readonly kind: 'discovery'; readonly trustDomain: string; readonly bundleUrl: URL }
  /** `refresh`: seconds until the next look. Null: the service does not say. */
  | { readonly kind: 'bundle'; readonly bundle: Bundle; readonly refresh: number | null }
  /** Hints of bundles within a map are not for the map (SPIFFE Trust Domain and Bundle §5.1.1). */
  | { readonly kind: 'map'; readonly bundles: ReadonlyMap<string, unknown> }

/** A rotation has two, and a large plant some. */
const mostAuthorities = 64
/** Base64. */
const longestCertificate = 32 << 10
const domainForm = /^[a-z0-9._-]{1,255}$/

/** Throws AnswerError. Members that are not known are ignored. */
export function readPublished(answer: unknown): Published {
  const [bundleUri, domains] = [memberOf(answer, 'trustBundleUri'), memberOf(answer, 'trust_domains')]
  if (bundleUri !== undefined) return readDiscovery(bundleUri, memberOf(answer, 'trustDomain'))
  if (domains !== undefined) {
    if (typeof domains !== 'object' || domains === null || Array.isArray(domains))
      throw new AnswerError('it answers with a map of bundles without trust domains')
    return { kind: 'map', bundles: new Map(Object.entries(domains)) }
  }
  return { kind: 'bundle', bundle: readBundle(answer), refresh: numberIn(answer, 'spiffe_refresh_hint') }
}

function readDiscovery(bundleUri: unknown, trustDomain: unknown): Published {
  if (typeof trustDomain !== 'string' || !domainForm.test(trustDomain))
    throw new AnswerError('it answers with a discovery document without a trust domain')
  const bundleUrl = typeof bundleUri === 'string' ? URL.parse(bundleUri) : null
  if (bundleUrl?.protocol !== 'https:' || bundleUrl.username !== '' || bundleUrl.password !== '')
    throw new AnswerError('it answers with a discovery document whose trustBundleUri is no https URL')
  return { kind: 'discovery', trustDomain, bundleUrl }
}

/** Throws AnswerError. A bundle without authorities is refused: the former one stays in use (Margo, Selecting and Refreshing the Bundle). */
export function readBundle(answer: unknown): Bundle {
  const keys = memberOf(answer, 'keys')
  if (!Array.isArray(keys)) throw new AnswerError('it answers with neither a discovery document nor a bundle')
  // Keys of other uses are for other kinds of identity documents.
  const entries = keys.filter((key: unknown) => memberOf(key, 'use') === 'x509-svid')
  if (entries.length > mostAuthorities)
    throw new AnswerError(`it answers with a bundle of more than ${mostAuthorities} authorities`)
  const authorities = entries.flatMap((entry: unknown) => authorityIn(entry) ?? [])
  const unusable = entries.length - authorities.length
  if (authorities.length === 0)
    throw new AnswerError(`it answers with a bundle without authorities${unusable > 0 ? ` that can be used` : ''}`)
  return { authorities, sequence: numberIn(answer, 'spiffe_sequence'), unusable }
}

/** Only the first certificate counts (X509-SVID §6.2). */
function authorityIn(entry: unknown): X509Certificate | null {
  const chain = memberOf(entry, 'x5c')
  const text: unknown = Array.isArray(chain) ? chain[0] : undefined
  if (typeof text !== 'string' || text.length > longestCertificate || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null
  try {
    const certificate = new X509Certificate(Buffer.from(text, 'base64'))
    return isUsableAuthority(certificate) ? certificate : null
  } catch {
    return null
  }
}

function numberIn(answer: unknown, name: string): number | null {
  const value = memberOf(answer, name)
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}
