/**
 * Serves desired state to devices: the manifest, each document by its digest, and all documents in one bundle.
 *
 * Nearly every request is a poll without a change. It costs one indexed row, and concurrent polls share one statement. Tags of sent manifests
 * are cached by content, not by device or time.
 */
import { LRUCache } from 'lru-cache'
import { DomainError } from '../../../domain/errors.ts'
import type { Fetched } from '../../../ingest/dialects/devices.ts'
import { desiredFormat } from '../../../ingest/dialects/index.ts'
import type { Heartbeats } from '../../../ingest/heartbeats.ts'
import { digestOf } from '../../../platform/body/digest.ts'
import { ClientGone } from '../../../platform/limits/bodies.ts'
import { createCallerSemaphore } from '../../../platform/limits/caller-semaphore.ts'
import type { Database } from '../../../store/database.ts'
import { documentsAt, entriesAt, findBundle, findDocument } from '../../../store/read/desired/desired.ts'
import { type ManifestTip, requireTip } from '../../../store/read/desired/manifest-tips.ts'
import type { Lookup } from '../../auth/devices/lookup.ts'
import { answer, type Exchange } from '../exchange.ts'
import { accepts, hasAlready } from '../negotiation.ts'
import { type CallerDeps, requireClient } from './device-caller.ts'

interface DesiredDeps extends CallerDeps {
  readonly database: Pick<Database, 'session'>
  readonly publicUrl: string | null
  readonly heartbeats: Heartbeats
  readonly findTip: Lookup<ManifestTip>
}

/** About 350 bytes each. In a larger fleet, a poll whose tag was evicted costs one more statement. */
const mostTags = 200_000
/** Bytes of cached manifests, for clients that send no tag. A manifest of a few deployments takes about two thousand bytes. */
const mostKept = 32 << 20
const overhead = 512

const { manifestType, bundleType, documentType, createManifest, createBundle } = desiredFormat

type Headers = Readonly<Record<string, string>>
type Kept = ReturnType<typeof createManifest>

/** Concurrent bundles of one client. A bundle may be as large as all documents of a manifest. */
const mostBundlesOfOne = 2

/** A digest names its content, so a response never changes. */
const immutable = 'private, immutable, max-age=31536000'

export function createDesired(deps: DesiredDeps): (exchange: Exchange, route: Fetched) => Promise<void> {
  const { database, publicUrl, heartbeats, findTip } = deps
  const bundles = createCallerSemaphore(mostBundlesOfOne)
  const tags = new LRUCache<string, string>({ maxSize: mostTags, sizeCalculation: () => 1 })
  const kept = new LRUCache<string, Kept>({
    maxSize: mostKept,
    sizeCalculation: ({ bytes }) => bytes.length + overhead,
  })
  /** The path prefix of a proxy in front of this server. */
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
    sendTagged(exchange, made.etag, manifestType, made.bytes, headers)
  }

  /** The bundle is in memory until the client has read it, so the slot is held for as long. */
  async function sendBundle(exchange: Exchange, client: string, device: number, digest: string): Promise<void> {
    const missing = new DomainError('NOT_FOUND', `there is no bundle ${digest} of ${client}`)
    const manifest = await findBundle(database.session, device, digest)
    if (!manifest) throw missing
    const headers = { 'cache-control': immutable }
    if (sendNotModified(exchange, `"${digest}"`, headers)) return
    const { response } = exchange
    const gone = new AbortController()
    response.once('close', () => gone.abort(new ClientGone('the client closed the connection')))
    if (response.destroyed) return
    const leave = await bundles.enter(client, gone.signal)
    response.once('close', leave)
    const bytes = createBundle(await documentsAt(database.session, device, manifest.version))
    // The rebuilt bundle differs from the announced one. The client can still fetch them one by one.
    if (digestOf(bytes) !== digest) throw missing
    answer(exchange, 200, bundleType, bytes, { ...headers, etag: `"${digest}"` })
  }

  return async (exchange, route) => {
    if (route.kind === 'manifest' && !accepts(exchange.request.headers.accept, manifestType))
      throw new DomainError('NOT_ACCEPTABLE', `a manifest is ${manifestType}, which Accept does not allow`)
    const client = await requireClient(deps, exchange, route.clientId)
    const tip = requireTip(client, await findTip(client))
    heartbeats.note(client, tip)
    if (route.kind === 'manifest') return sendManifest(exchange, tip, `${root}${route.base}`)

    const { digest } = route
    if (route.kind === 'bundle') return sendBundle(exchange, client, tip.key, digest)
    const content = await findDocument(database.session, tip.key, route.deploymentId, digest)
    // The same error applies to a document of another device.
    if (content === null) throw new DomainError('NOT_FOUND', `there is no document ${digest} of ${client}`)
    sendTagged(exchange, `"${digest}"`, documentType, content, { 'cache-control': immutable })
  }
}

function sendTagged(exchange: Exchange, etag: string, type: string, body: string | Buffer, more: Headers): void {
  if (!sendNotModified(exchange, etag, more)) answer(exchange, 200, type, body, { ...more, etag })
}

/** Sends 304 if the client has this tag. Returns whether it did. */
function sendNotModified({ request, response }: Exchange, etag: string | undefined, more: Headers): boolean {
  if (etag === undefined || !hasAlready(request.headers['if-none-match'], etag)) return false
  if (!response.headersSent && !response.destroyed) response.writeHead(304, { ...more, etag }).end()
  return true
}
