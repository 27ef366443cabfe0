/** Asks an identity service. Each request is bounded in time, bytes and values, and goes to https only. Redirects are not followed: Margo's endpoints have none. */
import { readAnswer } from '../../../platform/outbound/json.ts'
import { AnswerError, openAnswer, readBytes } from '../../../platform/outbound/request.ts'
import { type Bundle, type Published, readBundle, readPublished } from './bundle.ts'

export interface Source {
  /** Null: that of this server. */
  readonly trustDomain: string | null
  /** Of a discovery document, a bundle, or a map of bundles. Without a path, of the discovery document. */
  readonly url: string
}

export interface Fetched {
  readonly bundles: ReadonlyMap<string, Bundle>
  /** Seconds. Null: the service does not say. */
  readonly refresh: number | null
}

interface FetchOptions {
  /** Trust domains of this server. Others are not of interest. */
  readonly domains: readonly string[]
  /** PEM of the authorities that the service is trusted by. Null: those of Node. */
  readonly ca: string | null
  readonly signal: AbortSignal
  /** Milliseconds of one request. */
  readonly patience?: number
}

const largest = 1 << 20
const limits = { most: 20_000, longestText: 64 << 10 }

/** Throws AnswerError, or an error of the connection. */
export async function fetchBundles({ trustDomain, url }: Source, options: FetchOptions): Promise<Fetched> {
  const first = readPublished(await ask(discoveryUrl(url), options))
  const domains = trustDomain === null ? options.domains : [trustDomain]
  if (first.kind !== 'discovery') return bundlesOf(first, domains)
  const named = first.trustDomain
  if (!domains.includes(named))
    throw new AnswerError(`it is for the trust domain ${named}, and this server has no identity there (${domains})`)
  const second = readPublished(await ask(first.bundleUrl, options))
  if (second.kind === 'discovery') throw new AnswerError('it names a discovery document as its bundle')
  // A map may have the bundles of others, too.
  return bundlesOf(second, second.kind === 'map' ? domains : [named])
}

export function discoveryUrl(text: string): URL {
  const url = new URL(text)
  return url.pathname === '/' ? new URL('/.well-known/margo', url) : url
}

function bundlesOf(found: Exclude<Published, { kind: 'discovery' }>, domains: readonly string[]): Fetched {
  if (found.kind === 'bundle') {
    const [domain, ...others] = domains
    if (domain === undefined || others.length > 0)
      throw new AnswerError(`it answers with a bundle, which does not say for which of the trust domains ${domains}`)
    return { bundles: new Map([[domain, found.bundle]]), refresh: found.refresh }
  }
  const bundles = domains.flatMap((domain) => {
    const bundle = found.bundles.get(domain)
    return bundle === undefined ? [] : [[domain, readBundle(bundle)] as const]
  })
  const lacking = domains.find((domain) => !found.bundles.has(domain))
  if (lacking !== undefined) throw new AnswerError(`it answers with a map without the trust domain ${lacking}`)
  return { bundles: new Map(bundles), refresh: null }
}

async function ask(url: URL, { ca, signal, patience = 10_000 }: FetchOptions): Promise<unknown> {
  const options = {
    headers: { accept: 'application/json' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
    // Its certificate may have been replaced, and the authority that it is trusted by.
    agent: false,
    ...(ca === null ? {} : { ca }),
  }
  const answer = await openAnswer(url, options)
  const { statusCode: status } = answer
  if (status !== 200) {
    answer.destroy()
    throw new AnswerError(`it answers with the status ${status} at ${url.pathname.slice(0, 200)}`)
  }
  const { bytes, isWhole } = await readBytes(answer, largest)
  if (!isWhole) throw new AnswerError(`it answers with more than ${largest} bytes`)
  return await readAnswer(bytes, limits)
}
