/** Holds what a server sends against docs/asyncapi.yaml. An object may have no member that the document does not describe. */
import { Ajv, type ValidateFunction } from 'ajv'
import { parse } from 'yaml'
import { readPage } from './documentation.ts'

type Members = Readonly<Record<string, unknown>>

interface Described {
  readonly contentType?: string
  readonly payload?: object
  readonly headers?: object
}

export interface Sent {
  readonly payload?: unknown
  readonly headers?: Members
  readonly contentType?: string | undefined
}

let ajv: Ajv | null = null
let channels: Readonly<Record<string, { readonly address: string | null; readonly messages: Members }>> = {}

function read(): Ajv {
  if (ajv) return ajv
  const document = closed(parse(readPage('docs/asyncapi.yaml'))) as Members & { readonly channels: typeof channels }
  channels = document.channels
  ajv = new Ajv({ strict: false, formats: { 'date-time': (text) => !Number.isNaN(Date.parse(text)) } })
  return ajv.addSchema(document, 'asyncapi')
}

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const isOpen = 'properties' in value && 'type' in value && value.type === 'object'
  const members = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closed(one)]))
  return isOpen ? { ...members, additionalProperties: false } : members
}

/** What is not of the document. Null: all is. */
export function undescribed(
  channel: string,
  message: string,
  { payload, headers = {}, contentType }: Sent,
): string | null {
  const schemas = read()
  const described = channels[channel]?.messages[message] as Described | undefined
  const at = `asyncapi#/channels/${channel}/messages/${message}`
  if (!described) return `${at} does not exist`
  if (contentType !== undefined && contentType.split(';')[0] !== described.contentType) return `${at}: ${contentType}`
  const problemOf = (part: 'payload' | 'headers', given: unknown): string | null => {
    if (!described[part])
      return given === undefined || Object.keys(given as object).length === 0 ? null : `${at}: has ${part}`
    const validate = schemas.getSchema(`${at}/${part}`) as ValidateFunction
    return validate(given)
      ? null
      : `${at}/${part}: ${schemas.errorsText(validate.errors)}: ${JSON.stringify(given).slice(0, 500)}`
  }
  return problemOf('payload', payload) ?? problemOf('headers', headers)
}

/** For listeners: the test file fails by a rejection that nothing waits for. */
export function expectDescribed(channel: string, message: string, sent: Sent): void {
  const problem = undescribed(channel, message, sent)
  if (problem !== null) void Promise.reject(new Error(problem))
}

/** The channel of a topic below `rollcall`. */
export function channelOf(topic: string): string {
  read()
  const found = Object.entries(channels).find(([, { address }]) =>
    new RegExp(`^${address?.replaceAll(/\{\w+\}/g, '[^/]*')}$`, 'su').test(topic),
  )
  return found?.[0] ?? 'none'
}
