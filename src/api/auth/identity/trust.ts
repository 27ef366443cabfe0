/** Recognizes clients by their X.509-SVIDs, as Margo's WFM identity profile says: in a trust domain of this server, of its own WFM, on a path to a present authority. */
import type { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { DomainError } from '../../../domain/errors.ts'
import { ConfigError } from '../../../platform/config-error.ts'
import type { Log } from '../../../platform/log/log.ts'
import { within } from '../../../platform/timing/within.ts'
import { CredentialRefused } from '../devices/refusal.ts'
import { clientOf, spiffeIdOf, trustDomainOf, wfmOf } from '../devices/spiffe.ts'
import type { Recognized, Trust } from '../devices/trust.ts'
import { readAdmittedClients } from './admitted-clients.ts'
import { type AuthoritiesDeps, createAuthorities } from './authorities.ts'
import { createKeptBundles } from './kept-bundles.ts'
import { fetchBundles, type Source } from './source.ts'
import { findPath, problemOfLeaf, tolerance, type Validity } from './svid.ts'

export interface TrustConfig {
  readonly sources: readonly Source[]
  /** A file: PEM of the authorities that the services are trusted by. Null: those of Node. */
  readonly ca: string | null
  /** SPIFFE ids of this server. Null: that of its certificate. */
  readonly ids: readonly string[] | null
  /** Where bundles are kept. */
  readonly directory: string
  /** A file of admitted clients. Null: registration admits. */
  readonly admitted: string | null
}

export interface TrustDeps extends Pick<AuthoritiesDeps, 'pause'> {
  readonly config: TrustConfig
  /** The certificate of this server, followed by its issuers. Empty: it has none. */
  readonly own: () => readonly X509Certificate[]
  readonly log: Log
  readonly clock: () => number
  /** Milliseconds between two looks at the file of admitted clients. */
  readonly interval?: number | undefined
}

export interface OpenTrust extends Trust {
  /** Asks the services and reads the list now. */
  reload(): Promise<void>
  /** The certificate of this server was replaced. */
  ownReplaced(): void
  close(): Promise<void>
}

/** Milliseconds that a start waits for services of which nothing is kept. */
const firstWait = 5_000
/** Verified certificates: more than a plant has devices that report at the same time. */
const mostVerified = 10_000
/** Bytes. A request for certificates has at most 64 KiB of names: beyond that, each handshake fails, also of a client without a certificate. */
const mostNamed = 65_000

/** Throws a ConfigError. */
export async function openTrust({ config, own, log, clock, interval, pause }: TrustDeps): Promise<OpenTrust> {
  const ca = async (): Promise<string | null> => (config.ca === null ? null : await readFile(config.ca, 'utf8'))
  await ca().catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError([`IDENTITY_SERVICE_CA cannot be read: ${config.ca} (${error.code ?? error.message})`])
  })
  const first = idsOf(config, own)
  if (typeof first === 'string') throw new ConfigError([first])
  let ids = first
  const admitted = config.admitted === null ? null : await readAdmittedClients({ file: config.admitted, log, interval })
  const verified = new LRUCache<string, Recognized & Validity>({ max: mostVerified })
  const followers: (() => void)[] = []
  const domains = (): readonly string[] => [...new Set(ids.map(trustDomainOf))]
  const authorities = createAuthorities({
    sources: config.sources,
    domains,
    ask: async (source, asked, signal) => fetchBundles(source, { domains: asked, ca: await ca(), signal }),
    kept: createKeptBundles(config.directory),
    log,
    changed() {
      verified.clear()
      checkOwn()
      for (const take of followers) take()
    },
    ...(pause && { pause }),
  })
  let warned = ''

  /** A certificate that its own clients refuse is an error of the operator, which they would see only there. */
  function checkOwn(): void {
    const chain = own()
    const [leaf] = chain
    const id = leaf && spiffeIdOf(leaf.subjectAltName)
    const bundle = id && authorities.of(trustDomainOf(id))
    if (!leaf || !bundle) return
    const path = findPath(chain, bundle.authorities, clock())
    const problem = problemOfLeaf(leaf) ?? ('message' in path ? path.message : null)
    const key = `${leaf.fingerprint256} ${problem}`
    if (problem !== null && key !== warned)
      log.warn({ spiffeId: id, problem }, `TLS_CERT is no valid X.509-SVID: ${problem}. Clients refuse it`)
    warned = key
  }

  function verify(chain: readonly X509Certificate[]): Recognized & Validity {
    const [leaf] = chain
    const id = leaf ? spiffeIdOf(leaf.subjectAltName) : null
    if (!leaf || id === null) throw refused('claims', 'it must have exactly one URI among its names (SAN), a SPIFFE id')
    const domain = trustDomainOf(id)
    const wfms = ids.filter((own) => trustDomainOf(own) === domain).map(wfmOf)
    if (wfms.length === 0)
      throw refused('untrusted', `${domain} is not a trust domain of this server (${domains().join(', ')})`)
    const bundle = authorities.of(domain)
    if (!bundle)
      throw new DomainError(
        'UNAVAILABLE',
        `the identity service has not named the authorities of ${domain} yet: retry later`,
      )
    const problem = problemOfLeaf(leaf)
    if (problem !== null) throw refused('claims', problem)
    const path = findPath(chain, bundle.authorities, clock())
    if ('message' in path) throw refused(path.reason, path.message)
    const client = clientOf(id)
    if (client === null || !wfms.includes(wfmOf(id.slice(0, id.lastIndexOf('/client/')))))
      throw refused('untrusted', `${id} is no client of this server, which is ${ids.join(', ')}`)
    return { spiffeId: id, client, ...path }
  }

  await within(firstWait, authorities.start())
  return {
    recognize(chain) {
      const key = chain.map(({ fingerprint256 }) => fingerprint256).join()
      const known = verified.get(key)
      const now = clock()
      if (known && known.from - tolerance <= now && now <= known.until) return known
      const found = verify(chain)
      verified.set(key, found)
      return found
    },
    isListed: ({ spiffeId, client }) => admitted?.has(spiffeId, client) ?? null,
    hasManyDomains: domains().length > 1,
    authorities() {
      const all = domains().flatMap((domain) => authorities.of(domain)?.authorities ?? [])
      return all.reduce((size, { raw }) => size + raw.length, 0) > mostNamed ? [] : all.map(String)
    },
    follow: (changed) => void followers.push(changed),
    async reload() {
      await Promise.all([authorities.refresh(), admitted?.reload()])
    },
    ownReplaced() {
      const found = idsOf(config, own)
      if (typeof found === 'string') log.warn({}, `${found}: the former id stays in use`)
      else ids = found
      verified.clear()
      checkOwn()
      // It may be of another trust domain. Without its authorities, devices get 503.
      if (domains().some((domain) => !authorities.of(domain))) void authorities.refresh()
    },
    async close() {
      admitted?.close()
      await authorities.stop()
    },
  }
}

/** Or what is wrong with them. */
function idsOf({ ids, sources }: TrustConfig, own: TrustDeps['own']): readonly string[] | string {
  const id = spiffeIdOf(own()[0]?.subjectAltName)
  const found = ids ?? (id === null || wfmOf(id) === null ? [] : [id])
  if (found.length === 0)
    return 'TLS_CERT has no SPIFFE id such as spiffe://factory.example/margo/wfm/plant-1 among its names: IDENTITY_SERVICE requires it, or SPIFFE_ID'
  const isServed = (domain: string): boolean =>
    sources.some(({ trustDomain }) => trustDomain === null || trustDomain === domain)
  const without = found.find((one) => !isServed(trustDomainOf(one)))
  return without === undefined
    ? found
    : `IDENTITY_SERVICE names no service for the trust domain ${trustDomainOf(without)} of ${without}`
}

function refused(reason: 'untrusted' | 'expired' | 'claims', why: string): CredentialRefused {
  return new CredentialRefused('UNAUTHENTICATED', reason, `the client certificate is refused: ${why}`)
}
