/** An agent that fetches its desired state with git, from its repository. */
import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Fetcher, type FetcherOptions, verified } from '../../../../src/apps/simulate/agents/fetch.ts'
import type { SimulatedAgent } from '../../../../src/apps/simulate/agents/plan.ts'

interface ManifestBody {
  readonly manifestVersion: number
  readonly deployments: readonly { readonly deploymentId: string; readonly digest: string; readonly path: string }[]
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
      for (const { deploymentId, digest, path } of manifest.deployments)
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
