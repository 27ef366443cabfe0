/**
 * Where devices fetch what they should run: the manifest, each document by its digest, and all of them in one bundle.
 *
 * Nearly every request is a device that asks whether anything is new, and nothing is: that costs one indexed row, of as many devices at
 * once as ask at the time. The bytes of manifests are kept by what they are made of, not by whose they are or when they were made.
 */
import { LRUCache } from 'lru-cache'
import { createLookup } from '../auth/devices/lookup.ts'
import { createBundle } from '../dialects/margo/bundle.ts'
import type { DesiredRoute } from '../dialects/margo/desired-routes.ts'
import { digestOf } from '../dialects/margo/digest.ts'
import { bundleMediaType, createManifest, manifestMediaType } from '../dialects/margo/manifest.ts'
import { DomainError } from '../domain/errors.ts'
import type { Database } from '../store/database.ts'
import { documentsAt, entriesAt, findBundle, findDocument } from '../store/desired.ts'
import { isTransient } from '../store/failure.ts'
import { findTips, type ManifestTip } from '../store/manifest-tips.ts'
import { accepts, hasAlready } from './conditions.ts'
import { type CallerDeps, requireClient } from './device-caller.ts'
import { answer, type Exchange } from './exchange.ts'

export interface DesiredDeps extends CallerDeps {
  readonly database: Pick<Database, 'session'>
  readonly publicUrl: string | null
}

/** Bytes; those of ten thousand devices with a few deployments each are a quarter of it. */
const mostKept = 64 << 20
/** What a kept manifest takes beside its own bytes. */
const overhead = 512

type Kept = ReturnType<typeof createManifest>

/** By whoever has a digest for a name, these are for ever what they are. */
const immutable = 'private, immutable, max-age=31536000'

export function createDesired(deps: DesiredDeps): (exchange: Exchange, route: DesiredRoute) => Promise<void> {
  const { database, publicUrl } = deps
  const find = createLookup((names) => findTips(database.session, names))
  const kept = new LRUCache<string, Kept>({
    maxSize: mostKept,
    sizeCalculation: ({ bytes }) => bytes.length + overhead,
  })
  /** Behind a proxy that serves us under a path of its own. */
  const root = publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')

  async function manifestOf(tip: ManifestTip, base: string): Promise<Kept> {
    const key = `${tip.version} ${tip.bundle?.digest} ${base}`
    const known = kept.get(key)
    if (known) return known
    const { key: device, version, bundle } = tip
    const deployments = bundle === null ? [] : await reach(() => entriesAt(database.session, device, version))
    const made = createManifest({ version: String(version), deployments, bundle }, base)
    kept.set(key, made)
    return made
  }

  async function tellManifest(exchange: Exchange, tip: ManifestTip, base: string): Promise<void> {
    const { bytes, etag } = await manifestOf(tip, base)
    tell(exchange, etag, manifestMediaType, bytes, { 'cache-control': 'private, no-cache', vary: 'Accept' })
  }

  async function bundleOf(device: number, digest: string): Promise<Buffer | null> {
    const { session } = database
    const manifest = await findBundle(session, device, digest)
    if (!manifest) return null
    const bytes = createBundle(await documentsAt(session, device, manifest.version))
    // Whoever cannot have what he was told of has the documents one by one.
    return digestOf(bytes) === digest ? bytes : null
  }

  return async (exchange, route) => {
    if (route.kind === 'manifest' && !accepts(exchange.request.headers.accept, manifestMediaType))
      throw new DomainError('NOT_ACCEPTABLE', `a manifest is ${manifestMediaType}, which Accept does not allow`)
    const client = await requireClient(deps, exchange, route.clientId)
    const tip = await find(client)
    if (!tip) throw new DomainError('NOT_FOUND_YET', unknown(client))
    if (tip.revokedAt !== null)
      throw new DomainError('FORBIDDEN', `device ${client} has been revoked: register it anew to let it fetch`)
    if (route.kind === 'manifest') return tellManifest(exchange, tip, `${root}${route.base}`)

    const { digest } = route
    const content = await reach<string | Buffer | null>(() =>
      route.kind === 'bundle'
        ? bundleOf(tip.key, digest)
        : findDocument(database.session, tip.key, route.deploymentId, digest),
    )
    // Also where another device has it.
    if (content === null) throw new DomainError('NOT_FOUND', `there is no ${route.kind} ${digest} of ${client}`)
    const type = route.kind === 'bundle' ? bundleMediaType : 'application/yaml'
    tell(exchange, `"${digest}"`, type, content, { 'cache-control': immutable })
  }
}

function unknown(client: string): string {
  return `there is no device ${client}: it is known once it is registered, reports, or something is declared for it`
}

function tell(
  exchange: Exchange,
  etag: string,
  type: string,
  body: string | Buffer,
  more: Record<string, string>,
): void {
  const { request, response } = exchange
  const headers = { ...more, etag }
  if (!hasAlready(request.headers['if-none-match'], etag)) answer(exchange, 200, type, body, headers)
  else if (!response.headersSent && !response.destroyed) response.writeHead(304, headers).end()
}

async function reach<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (!isTransient(cause)) throw cause
    throw new DomainError('UNAVAILABLE', 'the database cannot be reached: ask again later', { cause })
  }
}
