/** The requests to the server above: GET asks where it is, POST sends a batch. One connection, which stays open between batches. */
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { promisify } from 'node:util'
import { gzip, zstdCompress } from 'node:zlib'
import type { Batch, Standing, Taken } from '../../domain/sites/batch.ts'
import { foreignText } from '../../domain/text.ts'
import type { Millis } from '../../domain/values.ts'
import { AnswerError, openAnswer, readBytes } from '../../platform/outbound/request.ts'
import { readDetail, readStanding, readTaken } from './answers.ts'
import { type Certificates, readCertificates } from './certificates.ts'
import type { UpstreamConfig } from './config.ts'

export type Trouble = 'UNREACHABLE' | 'FAILING' | 'REFUSED' | 'MISMATCH'

/** Why a batch was not taken. The message continues "the server above". */
export class LinkError extends Error {
  readonly trouble: Trouble
  /** Perhaps the batch is too large, or the link too slow for it. */
  readonly isTooMuch: boolean

  constructor(
    trouble: Trouble,
    message: string,
    { isTooMuch = false, cause }: { isTooMuch?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.trouble = trouble
    this.isTooMuch = isTooMuch
  }
}

export type Outcome = { readonly taken: Taken } | { readonly standing: Standing }

export interface Link {
  ask(signal: AbortSignal): Promise<Standing>
  /** `sent` is called with the bytes of the compressed batch. */
  send(batch: Batch, signal: AbortSignal): Promise<Outcome>
  /** Ends the connection. The next request opens one, with the certificates as they are then. */
  close(): void
}

interface LinkOptions {
  readonly config: UpstreamConfig
  /** Milliseconds for a request and its answer. */
  readonly patience: Millis
  readonly sent?: (bytes: number) => void
}

/** Bytes of an answer: a Standing may name some thousands of keys. */
const largestAnswer = 1 << 20
const [compressWithZstd, compressWithGzip] = [promisify(zstdCompress), promisify(gzip)]

export function createLink({ config, patience, sent = () => {} }: LinkOptions): Link {
  const url = new URL(`${config.url}/sites/v1/batches`)
  const authorization = config.token === null ? {} : { authorization: `Bearer ${config.token}` }
  let certificates: Certificates = readCertificates(config.files)
  let agent = openAgent()
  /** Whether its newest answer accepts zstd. */
  let hasZstd = false

  function openAgent(): HttpAgent {
    const options = { keepAlive: true, maxSockets: 1 }
    return url.protocol === 'https:' ? new HttpsAgent({ ...options, ...certificates }) : new HttpAgent(options)
  }

  async function exchange(
    options: RequestOptions,
    body: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly bytes: Buffer }> {
    const late = AbortSignal.timeout(patience)
    const headers = { accept: 'application/json', ...authorization, ...options.headers }
    try {
      const answer = await openAnswer(
        url,
        { ...options, headers, agent, signal: AbortSignal.any([signal, late]) },
        body,
      )
      const { bytes, isWhole } = await readBytes(answer, largestAnswer)
      if (!isWhole) throw new AnswerError(`it answers with more than ${largestAnswer} bytes`)
      hasZstd = acceptsZstd(answer)
      return { status: answer.statusCode ?? 0, bytes }
    } catch (error) {
      throw toLinkError(error as Error, late.aborted ? patience : null)
    }
  }

  return {
    async ask(signal) {
      const { status, bytes } = await exchange({ method: 'GET' }, undefined, signal)
      if (status !== 200) throw await refusal(status, bytes)
      return understood(readStanding(bytes))
    },
    async send(batch, signal) {
      const text = Buffer.from(JSON.stringify(batch))
      const body = hasZstd ? await compressWithZstd(text) : await compressWithGzip(text)
      const headers = {
        ...{ 'content-type': 'application/json', 'content-encoding': hasZstd ? 'zstd' : 'gzip' },
        'content-length': body.length,
      }
      const { status, bytes } = await exchange({ method: 'POST', headers }, body, signal)
      sent(body.length)
      if (status === 200) return { taken: await understood(readTaken(bytes)) }
      if (status === 409) return { standing: await understood(readStanding(bytes)) }
      throw await refusal(status, bytes)
    },
    close() {
      agent.destroy()
      try {
        certificates = readCertificates(config.files)
      } catch {
        // A file that is being replaced. Those of before may still be valid.
      }
      agent = openAgent()
    },
  }
}

function acceptsZstd({ headers }: IncomingMessage): boolean {
  return String(headers['accept-encoding'] ?? '')
    .split(',')
    .some((coding) => /^\s*zstd\s*(;\s*q=(0?\.\d*[1-9]\d*|1(\.0*)?)\s*)?$/i.test(coding))
}

async function refusal(status: number, bytes: Buffer): Promise<LinkError> {
  const detail = await readDetail(bytes)
  const said = `answers ${status}${detail === null ? '' : `: ${detail}`}`
  if (status === 401 || status === 403) return new LinkError('REFUSED', said)
  return new LinkError(status >= 500 || status === 429 ? 'FAILING' : 'MISMATCH', said, { isTooMuch: status === 413 })
}

/** It speaks, but not this protocol. */
async function understood<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof AnswerError) throw new LinkError('MISMATCH', said(error), { cause: error })
    throw error
  }
}

/** Without the `it` of its messages. */
const said = ({ message }: AnswerError): string => message.replace(/^it /, '')

function toLinkError(error: Error & { code?: string }, late: Millis | null): LinkError {
  if (late !== null)
    return new LinkError('UNREACHABLE', `does not answer within ${late / 1_000} s`, { isTooMuch: true })
  if (error instanceof AnswerError) return new LinkError('MISMATCH', said(error), { cause: error })
  // Some errors of sockets have no message.
  const why = foreignText(error.code ?? (error.message || error.name))
  return new LinkError('UNREACHABLE', `cannot be reached (${why})`, { cause: error })
}
