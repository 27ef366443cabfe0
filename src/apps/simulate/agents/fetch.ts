/** How an agent fetches its desired state: manifest and documents over REST. It verifies what it receives. */
import { createHash } from 'node:crypto'
import { type RetryOptions, sendWithRetry } from '../requests.ts'
import type { SimulatedAgent } from './plan.ts'

export interface Fetched {
  readonly version: number
  /** By deploymentId. */
  readonly documents: ReadonlyMap<string, string>
}

export interface Fetcher {
  /** 'unchanged': nothing new. Null: the simulation ended first. Throws if the server's answer is wrong. */
  fetch(): Promise<Fetched | 'unchanged' | null>
}

export interface FetcherOptions extends RetryOptions {
  readonly url: string
  readonly token: string | undefined
  readonly agent: SimulatedAgent
}

export type FetcherOf = (options: FetcherOptions) => Fetcher | Promise<Fetcher>

interface Entry {
  readonly deploymentId: string
  readonly digest: string
  /** Of its document. */
  readonly url: string
}

interface ManifestBody {
  readonly manifestVersion: number
  readonly deployments: readonly Entry[]
}

const mediaType = 'application/vnd.margo.manifest.v1+json'

export function createRestFetcher({ url, token, agent, ...retryOptions }: FetcherOptions): Fetcher {
  let etag: string | null = null
  const known = new Map<string, string>()
  const get = (path: string, headers: Readonly<Record<string, string>>) =>
    sendWithRetry({ method: 'GET', url: new URL(path, url).href, token, headers }, retryOptions)

  return {
    async fetch() {
      const path = `/api/v1/clients/${encodeURIComponent(agent.deviceId)}/deployments`
      const answered = await get(path, { accept: mediaType, ...(etag === null ? {} : { 'if-none-match': etag }) })
      if (!answered) return null
      const { response } = answered
      if (response.status === 304) return 'unchanged'
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (!response.ok) throw new Error(`its manifest is refused: HTTP ${response.status}`)
      const newEtag = response.headers.get('etag')
      if (newEtag !== `"${digestOf(bytes)}"`)
        throw new Error(`the manifest's ETag is ${newEtag}, which is not the digest of its bytes`)
      if (newEtag === etag) throw new Error('the server sent an unchanged manifest again')
      const manifest = JSON.parse(new TextDecoder().decode(bytes)) as ManifestBody
      const documents = new Map<string, string>()
      for (const entry of manifest.deployments) {
        const content = known.get(entry.digest) ?? (await fetchDocument(entry))
        if (content === null) return null
        known.set(entry.digest, content)
        documents.set(entry.deploymentId, content)
      }
      // Set only now, so that a manifest whose documents are incomplete is fetched again.
      etag = newEtag
      return { version: manifest.manifestVersion, documents }
    },
  }

  async function fetchDocument({ deploymentId, digest, url: path }: Entry): Promise<string | null> {
    const answered = await get(path, { accept: 'application/yaml' })
    if (!answered) return null
    const { response } = answered
    if (!response.ok) throw new Error(`the document of ${deploymentId} is refused: HTTP ${response.status}`)
    return verified(deploymentId, digest, new Uint8Array(await response.arrayBuffer()))
  }
}

export function verified(deploymentId: string, digest: string, bytes: Uint8Array): string {
  if (digestOf(bytes) !== digest) throw new Error(`the document of ${deploymentId} does not match its digest`)
  return new TextDecoder().decode(bytes)
}

export function digestOf(content: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
