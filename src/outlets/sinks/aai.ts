/** The part of A&AI's REST API that the inventory needs (docs/wire.md §4): reads a node, and changes up to thirty in one transaction. */
import { randomUUID } from 'node:crypto'
import { memberOf, readAnswer } from '../../platform/outbound/json.ts'
import { AnswerError } from '../../platform/outbound/request.ts'
import { type ReceivedAnswer, type Send, SendError } from './send.ts'

export interface AaiConfig {
  /** Without a trailing slash and without /aai. */
  readonly url: string
  /** The version of A&AI's schema. k8s-resource needs 24. */
  readonly version: number
  readonly user: string | null
  readonly password: string | null
  readonly applicationId: string
  /** Null: all but the excluded. */
  readonly includeKinds: readonly string[] | null
  readonly excludeKinds: readonly string[]
}

export interface Operation {
  readonly action: 'put' | 'patch' | 'delete'
  readonly uri: string
  readonly body: Readonly<Record<string, unknown>>
}

/** What matters of a node. */
interface AaiNode {
  readonly version: string | null
  readonly operationalStatus: string | null
}

export interface Aai {
  /** Null: the node does not exist. */
  read(path: string): Promise<AaiNode | null>
  /** Executes all operations or none. False: another client changed a node meanwhile (412). */
  transact(operations: readonly Operation[]): Promise<boolean>
  /** The link to a node, in the form that relationships use. */
  link(path: string): string
}

/** A&AI's own limit. */
export const operationLimit = 30

/** Bytes of an answer. A VNF lists the relationship of each of its resources, which is several hundred bytes long, and has some ten values. */
const longestNode = 16 << 20
const nodeLimits = { most: 600_000, longestText: 64 << 10 }
/** Characters. */
const longestText = 256

class AaiError extends SendError {
  readonly status: number

  constructor(status: number, what: string) {
    super(`A&AI answered ${status} to ${what}`)
    this.status = status
  }
}

export function createAai(config: AaiConfig, send: Send): Aai {
  const base = `/aai/v${config.version}`
  const credentials =
    config.user === null ? null : Buffer.from(`${config.user}:${config.password ?? ''}`).toString('base64')
  const ask = (method: 'GET' | 'POST', path: string, body?: unknown): Promise<ReceivedAnswer> =>
    send({
      method,
      url: `${config.url}${base}${path}`,
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'x-fromappid': config.applicationId,
        'x-transactionid': randomUUID(),
        ...(credentials !== null && { authorization: `Basic ${credentials}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      answerLimit: longestNode,
    })

  return {
    link: (path) => `${base}${path}`,
    async read(path) {
      const { status, bytes, isWhole } = await ask('GET', path)
      if (status === 404) return null
      if (status !== 200) throw new AaiError(status, `GET ${path}${reason(bytes)}`)
      if (!isWhole) throw new SendError(`A&AI's answer to GET ${path} is too long`)
      const node = await readAnswer(bytes, nodeLimits).catch((error: unknown) => {
        throw error instanceof AnswerError ? new SendError(`A&AI, to GET ${path}: ${error.message}`) : error
      })
      const version = textOf(node, 'resource-version', path)
      return { version, operationalStatus: textOf(node, 'operational-status', path) }
    },
    async transact(operations) {
      const { status, bytes } = await ask('POST', '/bulk/single-transaction', { operations })
      if (status === 412 || (status >= 400 && /AAI_613[015]/.test(beginOf(bytes)))) return false
      if (status < 200 || status >= 300) throw new AaiError(status, `a transaction${reason(bytes)}`)
      return true
    },
  }
}

/** A member that is stored there, and sent back with a change. Null: the node has none. */
function textOf(node: unknown, name: string, path: string): string | null {
  const text = memberOf(node, name)
  if (typeof text !== 'string') return null
  if (text.length <= longestText) return text
  throw new SendError(`A&AI's answer to GET ${path} has a ${name} of more than ${longestText} characters`)
}

/** Where a refusal has its code. */
function beginOf(bytes: Buffer): string {
  return bytes.toString('utf8', 0, 64 << 10)
}

/** The reason that A&AI gives, and nothing else of its answer. */
function reason(bytes: Buffer): string {
  const [code] = /\b(?:SVC|POL|AAI_|ERR\.)[\w.]{1,40}/.exec(beginOf(bytes)) ?? []
  return code === undefined ? '' : ` (${code})`
}
