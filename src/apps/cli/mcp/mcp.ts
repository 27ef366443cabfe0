/** `rollcall mcp`: an assistant on this machine asks the server, over standard input and output, with the credential of its person. */
import { once } from 'node:events'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Asking } from '../../../api/mcp/asking.ts'
import { createAssistant } from '../../../api/mcp/assistant.ts'
import { readPages } from '../../../api/mcp/documentation.ts'
import { viewer } from '../../../api/mcp/documents.ts'
import { UsageError } from '../../../server/process/arguments.ts'
import { ApiError, reasonOf } from '../../client/errors.ts'
import { readBytes } from '../../client/request.ts'
import type { Api } from '../api.ts'

interface Opened {
  readonly api: Api
  readonly token: string | undefined
}

/**
 * Until the client closes the input, or the signal is aborted. Standard output is the client's alone. Each question has the credential of its time: a
 * client runs for days, and its person signs in meanwhile.
 */
export async function serveAssistant(
  url: string,
  open: () => Promise<Opened>,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const isWriting = writesIn(env)
  // Says at once that others can read the sessions.
  await open()
  const report = (error: unknown): string => {
    say(`unexpected error: ${reasonOf(error)}`)
    return `Unexpected error: ${reasonOf(error)}`
  }
  const deps = {
    clock: Date.now,
    signal,
    report,
    readPages,
    readSchema: async () => readSchema(url, (await open()).token, signal),
  }
  const serving = serveStdio(
    async () => {
      const asking: Asking = {
        url,
        isWriting: isWriting && (await mayWrite((await open()).api, signal)),
        ask: async (...question) => (await open()).api.ask(...question),
        follow: async (...subscription) => (await open()).api.follow(...subscription),
      }
      return createAssistant(asking, deps)
    },
    { maxSubscriptions: 0, onerror: ({ message }) => say(message) },
  )
  await Promise.race([once(process.stdin, 'close'), once(process.stdin, 'end'), once(signal, 'abort')])
  await serving.close()
}

function writesIn({ MCP_WRITE: text = 'false' }: NodeJS.ProcessEnv): boolean {
  if (/^(true|1)$/i.test(text)) return true
  if (/^(false|0|)$/i.test(text)) return false
  throw new UsageError(`MCP_WRITE must be true or false, but is ${JSON.stringify(text)}`)
}

/** If the server cannot be asked now, it decides at the call. */
async function mayWrite(api: Api, signal: AbortSignal): Promise<boolean> {
  const found = await api.ask<{ viewer: { roles: readonly string[] } }>(viewer, {}, signal).catch(() => null)
  return found?.viewer.roles.some((role) => role === 'OPERATOR' || role === 'ADMIN') ?? true
}

async function readSchema(url: string, token: string | undefined, signal: AbortSignal): Promise<string> {
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  const late = AbortSignal.any([signal, AbortSignal.timeout(30_000)])
  const response = await fetch(`${url}/schema.graphql`, { headers, signal: late, redirect: 'manual' })
  if (response.ok) return new TextDecoder().decode(await readBytes(response, 16 << 20))
  throw new ApiError('NO_ANSWER', `the server answers HTTP ${response.status}`, { status: response.status })
}
