/** An OpenTelemetry collector: it decodes what it gets from protobuf, by the field numbers of opentelemetry-proto's trace.proto. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  /** Milliseconds. */
  readonly start: number
  readonly end: number
  readonly attributes: Readonly<Record<string, string | number>>
  readonly events: readonly {
    readonly name: string
    readonly at: number
    readonly attributes: Readonly<Record<string, string | number>>
  }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  /** 0: unset, 1: OK, 2: error. */
  readonly code: number
  readonly message: string
  /** Attributes of the resource: of the server that sent it. */
  readonly resource: Readonly<Record<string, string | number>>
}

export interface Collector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  readonly headers: readonly Readonly<Record<string, string | string[] | undefined>>[]
  /** What the next requests are answered. */
  answer(status: number): void
  close(): Promise<void>
}

/** On `port`, or on a free one. */
export async function startCollector(port = 0): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const headers: Collector['headers'][number][] = []
  let status = 200
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      headers.push(request.headers)
      if (status === 200 && request.url === '/v1/traces') spans.push(...decode(Buffer.concat(chunks)))
      response
        .writeHead(request.url === '/v1/traces' ? status : 404, { 'content-type': 'application/x-protobuf' })
        .end()
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    answer: (next) => (status = next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Field = bigint | Buffer
type Message = ReadonlyMap<number, readonly Field[]>

function parse(bytes: Buffer): Message {
  const fields = new Map<number, Field[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const take = (length: number): Buffer => {
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const read = [varint, () => take(8).readBigUInt64LE(), () => take(Number(varint()))][tag & 7]
    const value = (tag & 7) === 5 ? BigInt(take(4).readUInt32LE()) : read?.()
    if (value === undefined) throw new Error(`an unknown type of wire: ${tag & 7}`)
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}

const parts = (message: Message, field: number): readonly Message[] =>
  (message.get(field) ?? []).map((part) => parse(part as Buffer))
const bytesOf = (message: Message, field: number): Buffer =>
  (message.get(field)?.[0] as Buffer | undefined) ?? Buffer.alloc(0)
const text = (message: Message, field: number): string => bytesOf(message, field).toString()
const hex = (message: Message, field: number): string => bytesOf(message, field).toString('hex')
const number = (message: Message, field: number): number => Number(message.get(field)?.[0] ?? 0)
const millis = (message: Message, field: number): number => Number((message.get(field)?.[0] as bigint) / 1_000_000n)

const attributesOf = (message: Message, field: number): Record<string, string | number> =>
  Object.fromEntries(
    parts(message, field).map((pair) => {
      const [value] = parts(pair, 2)
      if (!value) throw new Error('an attribute without a value')
      return [text(pair, 1), value.has(1) ? text(value, 1) : number(value, 3)]
    }),
  )

function decode(body: Buffer): CollectedSpan[] {
  return parts(parse(body), 1).flatMap((resourceSpans) => {
    const [resource] = parts(resourceSpans, 1)
    return parts(resourceSpans, 2).flatMap((scopeSpans) =>
      parts(scopeSpans, 2).map((span): CollectedSpan => {
        const [status] = parts(span, 15)
        return {
          ...{ traceId: hex(span, 1), spanId: hex(span, 2), parentSpanId: hex(span, 4), name: text(span, 5) },
          resource: resource ? attributesOf(resource, 1) : {},
          ...{ start: millis(span, 7), end: millis(span, 8), attributes: attributesOf(span, 9) },
          events: parts(span, 11).map((event) => ({
            at: millis(event, 1),
            name: text(event, 2),
            attributes: attributesOf(event, 3),
          })),
          links: parts(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
          code: status ? number(status, 3) : 0,
          message: status ? text(status, 2) : '',
        }
      }),
    )
  })
}
