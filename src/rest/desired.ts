/**
 * Where devices fetch what they should run: the manifest, each document by its digest, and all of them in one bundle.
 *
 * Nearly every request is a device that asks whether anything is new, and nothing is: that costs one indexed row, of as many devices at
 * once as ask at the time. What has once been told is known by its tag, by what it was made of, not by whose it is or when it was made.
 */
import { LRUCache } from 'lru-cache'
import type { Lookup } from '../auth/devices/lookup.ts'
import { createBundle } from '../dialects/margo/bundle.ts'
import type { DesiredRoute } from '../dialects/margo/desired-routes.ts'
import { digestOf } from '../dialects/margo/digest.ts'
import { bundleMediaType, createManifest, manifestMediaType } from '../dialects/margo/manifest.ts'
import { DomainError } from '../domain/errors.ts'
import type { Heartbeats } from '../ingest/heartbeats.ts'
import { ClientGone } from '../limits/bodies.ts'
import { createCallerSemaphore } from '../limits/caller-semaphore.ts'
import type { Database } from '../store/database.ts'
import { documentsAt, entriesAt, findBundle, findDocument } from '../store/read/desired.ts'
import { type ManifestTip, requireTip } from '../store/read/manifest-tips.ts'
import { accepts, hasAlready } from './conditions.ts'
import { type CallerDeps, requireClient } from './device-caller.ts'
import { answer, type Exchange } from './exchange.ts'

export interface DesiredDeps extends CallerDeps {
  readonly database: Pick<Database, 'session'>
  readonly publicUrl: string | null
  readonly heartbeats: Heartbeats
  readonly findTip: Lookup<ManifestTip>
}

/** Some 350 bytes each. A fleet of which more are asked for in turn costs one statement more a poll. */
const mostTags = 200_000
/** Bytes, of manifests: for those who ask without saying what they have. One of a few deployments takes two thousand. */
const mostKept = 32 << 20
const overhead = 512

type Headers = Readonly<Record<string, string>>
type Kept = ReturnType<typeof createManifest>

/** Each may be as large as all documents of a manifest. */
const mostBundlesOfOne = 2

/** By whoever has a digest for a name, these are for ever what they are. */
const immutable = 'private, immutable, max-age=31536000'

export function createDesired(deps: DesiredDeps): (exchange: Exchange, route: DesiredRoute) => Promise<void> {
  const { database, publicUrl, heartbeats, findTip } = deps
  const bundles = createCallerSemaphore(mostBundlesOfOne)
  const tags = new LRUCache<string, string>({ maxSize: mostTags, sizeCalculation: () => 1 })
  const kept = new LRUCache<string, Kept>({
    maxSize: mostKept,
    sizeCalculation: ({ bytes }) => bytes.length + overhead,
  })
  /** Behind a proxy that serves us under a path of its own. */
  const root = publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')

  async function manifestOf({ key: device, version, bundle }: ManifestTip, base: string): Promise<Kept> {
    const deployments = bundle === null ? [] : await entriesAt(database.session, device, version)
    return createManifest({ version: String(version), deployments, bundle }, base)
  }

  async function sendManifest(exchange: Exchange, tip: ManifestTip, base: string): Promise<void> {
    const key = `${tip.version} ${tip.bundle?.digest} ${base}`
    const headers = { 'cache-control': 'private, no-cache', vary: 'Accept' }
    if (sendNotModified(exchange, tags.get(key), headers)) return
    const made = kept.get(key) ?? (await manifestOf(tip, base))
    kept.set(key, made)
    tags.set(key, made.etag)
    tell(exchange, made.etag, manifestMediaType, made.bytes, headers)
  }

  /** It is held until it has been read. */
  async function sendBundle(exchange: Exchange, client: string, device: number, digest: string): Promise<void> {
    const missing = new DomainError('NOT_FOUND', `there is no bundle ${digest} of ${client}`)
    const manifest = await findBundle(database.session, device, digest)
    if (!manifest) throw missing
    const headers = { 'cache-control': immutable }
    if (sendNotModified(exchange, `"${digest}"`, headers)) return
    const { response } = exchange
    const gone = new AbortController()
    response.once('close', () => gone.abort(new ClientGone('the client has gone')))
    if (response.destroyed) return
    const leave = await bundles.enter(client, gone.signal)
    response.once('close', leave)
    const bytes = createBundle(await documentsAt(database.session, device, manifest.version))
    // Whoever cannot have what he was told of has the documents one by one.
    if (digestOf(bytes) !== digest) throw missing
    answer(exchange, 200, bundleMediaType, bytes, { ...headers, etag: `"${digest}"` })
  }

  return async (exchange, route) => {
    if (route.kind === 'manifest' && !accepts(exchange.request.headers.accept, manifestMediaType))
      throw new DomainError('NOT_ACCEPTABLE', `a manifest is ${manifestMediaType}, which Accept does not allow`)
    const client = await requireClient(deps, exchange, route.clientId)
    const tip = requireTip(client, await findTip(client))
    heartbeats.note(client, tip)
    if (route.kind === 'manifest') return sendManifest(exchange, tip, `${root}${route.base}`)

    const { digest } = route
    if (route.kind === 'bundle') return sendBundle(exchange, client, tip.key, digest)
    const content = await findDocument(database.session, tip.key, route.deploymentId, digest)
    // Also where another device has it.
    if (content === null) throw new DomainError('NOT_FOUND', `there is no document ${digest} of ${client}`)
    tell(exchange, `"${digest}"`, 'application/yaml', content, { 'cache-control': immutable })
  }
}

function tell(exchange: Exchange, etag: string, type: string, body: string | Buffer, more: Headers): void {
  if (!sendNotModified(exchange, etag, more)) answer(exchange, 200, type, body, { ...more, etag })
}

/** Whether that was all: the client has it. */
function sendNotModified({ request, response }: Exchange, etag: string | undefined, more: Headers): boolean {
  if (etag === undefined || !hasAlready(request.headers['if-none-match'], etag)) return false
  if (!response.headersSent && !response.destroyed) response.writeHead(304, { ...more, etag }).end()
  return true
}
