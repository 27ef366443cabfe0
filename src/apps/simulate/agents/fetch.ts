/** How an agent fetches its desired state: manifest and documents over REST, or its repository with git. It verifies what it receives. */
import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type RetryOptions, sendWithRetry } from '../requests.ts'
import { digestOf } from './ledger.ts'
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

interface FetcherOptions extends RetryOptions {
  readonly url: string
  readonly token: string | undefined
  readonly agent: SimulatedAgent
}

interface Entry {
  readonly deploymentId: string
  readonly digest: string
  /** REST: its URL. Git: its file. */
  readonly url?: string
  readonly path?: string
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
    const answered = await get(path ?? '', { accept: 'application/yaml' })
    if (!answered) return null
    const { response } = answered
    if (!response.ok) throw new Error(`the document of ${deploymentId} is refused: HTTP ${response.status}`)
    return verified(deploymentId, digest, new Uint8Array(await response.arrayBuffer()))
  }
}

function verified(deploymentId: string, digest: string, bytes: Uint8Array): string {
  if (digestOf(bytes) !== digest) throw new Error(`the document of ${deploymentId} does not match its digest`)
  return new TextDecoder().decode(bytes)
}

/** Whether the server serves repositories and this machine has git. */
export async function canPull({ url, token, agent, ...retryOptions }: FetcherOptions): Promise<boolean> {
  const path = `${repository(url, agent)}/info/refs?service=git-upload-pack`
  const authorization = token === undefined ? {} : { authorization: basic(token) }
  const response = await fetch(path, { headers: authorization, signal: retryOptions.signal }).catch(() => null)
  await response?.body?.cancel()
  if (!response?.ok) return false
  return run(tmpdir(), '--version').then(
    () => true,
    () => false,
  )
}

const repository = (url: string, { deviceId }: SimulatedAgent): string =>
  `${url}/git/${encodeURIComponent(deviceId)}.git`

const basic = (token: string): string => `Basic ${Buffer.from(`device:${token}`).toString('base64')}`

/** `folder`: where it makes its clone. */
export function createGitFetcher(folder: string, { url, token, agent, tryFailed, signal }: FetcherOptions): Fetcher {
  const clone = join(folder, encodeURIComponent(agent.deviceId))
  const credential = token === undefined ? [] : ['-c', `http.extraHeader=Authorization: ${basic(token)}`]
  let head: string | null = null

  async function pull(): Promise<void> {
    if (head === null) await run(folder, ...credential, 'clone', '--quiet', repository(url, agent), clone)
    else await run(clone, ...credential, 'pull', '--quiet', '--ff-only')
  }

  return {
    async fetch() {
      if (signal.aborted) return null
      // The agent tries again on its next wake.
      const isThere = await pull().then(
        () => true,
        () => false,
      )
      if (!isThere) {
        tryFailed('unanswered')
        await rmUnlessCloned()
        return signal.aborted ? null : 'unchanged'
      }
      const now = await run(clone, 'rev-parse', 'HEAD')
      if (now === head) return 'unchanged'
      head = now
      const manifest = JSON.parse(await readFile(join(clone, 'manifest.json'), 'utf8')) as ManifestBody
      const documents = new Map<string, string>()
      for (const { deploymentId, digest, path = '' } of manifest.deployments)
        documents.set(deploymentId, verified(deploymentId, digest, await readFile(join(clone, path))))
      return { version: manifest.manifestVersion, documents }
    },
  }

  /** An interrupted clone leaves a directory that would block the next clone. */
  async function rmUnlessCloned(): Promise<void> {
    if (head === null) await rm(clone, { recursive: true, force: true })
  }
}

const environment = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
}

async function run(cwd: string, ...words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', words, { cwd, env: environment, timeout: 20_000 })
  return stdout.trim()
}
