/** The part of A&AI's REST API that the inventory needs (docs/wire.md §4): reads a node, and changes up to thirty in one transaction. */
import { randomUUID } from 'node:crypto'
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

export interface Aai {
  /** The body of a node. Null: the node does not exist. */
  read(path: string): Promise<Readonly<Record<string, unknown>> | null>
  /** Executes all operations or none. False: another client changed a node meanwhile (412). */
  transact(operations: readonly Operation[]): Promise<boolean>
  /** The link to a node, in the form that relationships use. */
  link(path: string): string
}

/** A&AI's own limit. */
export const operationLimit = 30

/** Characters of an answer. A VNF lists the relationship of each of its resources, which is several hundred characters long. */
const longestNode = 16 << 20

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
      const { status, body } = await ask('GET', path)
      if (status === 404) return null
      if (status !== 200) throw new AaiError(status, `GET ${path}${reason(body)}`)
      try {
        return JSON.parse(body)
      } catch {
        const isCut = body.length >= longestNode
        throw new SendError(`A&AI's answer to GET ${path} is ${isCut ? 'too long' : 'not JSON'}`)
      }
    },
    async transact(operations) {
      const { status, body } = await ask('POST', '/bulk/single-transaction', { operations })
      if (status === 412 || (status >= 400 && /AAI_613[015]/.test(body))) return false
      if (status < 200 || status >= 300) throw new AaiError(status, `a transaction${reason(body)}`)
      return true
    },
  }
}

/** The reason that A&AI gives, and nothing else of its answer. */
function reason(body: string): string {
  const [code] = /(?:SVC|POL|AAI_|ERR\.)[\w.]+/.exec(body) ?? []
  return code === undefined ? '' : ` (${code})`
}
