/**
 * Answers GET /export/<kind> and GET /export/<kind>/manifest. The first part is read before the headers are sent, so that most errors are
 * problems of a whole response. A later error ends the connection, so a client does not take a part for the whole.
 */
import type { ServerResponse } from 'node:http'
import type { Principal } from '../../domain/principal.ts'
import type { Millis } from '../../domain/values.ts'
import type { Admission } from '../../platform/limits/admission.ts'
import { withScope } from '../../store/read/access-scope.ts'
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { answer, drained, type Exchange } from '../rest/exchange.ts'
import { type SnapshotDeps, withSnapshot } from '../rest/with-snapshot.ts'
import { bodyOf, type ReadPart } from './body.ts'
import { valuesOfConditions } from './conditions.ts'
import type { Format } from './formats/format.ts'
import { formatOf } from './formats/formats.ts'
import type { Extent, KindName, Sessions } from './kinds/kind.ts'
import { kinds } from './kinds/kinds.ts'
import { type Query, readQuery, valuesOfBounds } from './query.ts'
import { createTally, type Tally } from './tally.ts'

export interface ExportDeps extends SnapshotDeps {
  readonly admission: Pick<Admission, 'enter' | 'callerOf' | 'openStream'>
  readonly auth: Pick<ApiAuth, 'follow'>
  /** Milliseconds after which the response to a request for a manifest begins. Clients and proxies wait for a minute or some. */
  readonly silence?: Millis
}

const values = { ...valuesOfBounds, ...valuesOfConditions, format: (query: Query) => formatOf(query, undefined) }

export async function serveExport(
  deps: ExportDeps,
  exchange: Exchange,
  principal: Principal,
  name: KindName,
  isManifest: boolean,
): Promise<void> {
  const { request, response } = exchange
  const kind = kinds[name]
  const query = readQuery(request.url ?? '', kind.accepts, values)
  const format = formatOf(query, isManifest ? undefined : request.headers.accept)
  const within = <T>(work: (sessions: Sessions) => Promise<T>): Promise<T> =>
    withSnapshot(deps, request, principal, (snapshot) =>
      work({ scoped: withScope(snapshot, principal.accessScope), whole: snapshot }),
    )
  const close = deps.admission.openStream(deps.admission.callerOf(principal, request))
  const leave = deps.auth.follow(principal, () => response.destroy())
  try {
    const after = query.get('after') ?? null
    const { extent, first } = await within(async (sessions) => {
      const opened = await kind.open(sessions, query)
      return { extent: opened, first: [await opened.read(sessions, after)] }
    })
    const read: ReadPart = (cursor) => within((sessions) => extent.read(sessions, cursor))
    const location = locationOf(name, format.name, extent)
    const tally = createTally(kind.columns)
    const body = bodyOf(first, read, await format.encode(kind.columns, after !== null), tally)
    const sent = { name, format, extent, location, body, tally }
    await (isManifest ? sendManifest(exchange, sent, deps.silence ?? 15_000) : sendRows(exchange, sent))
  } finally {
    leave()
    close()
  }
}

interface Sent {
  readonly name: KindName
  readonly format: Format
  readonly extent: Extent
  readonly location: string
  readonly body: AsyncIterable<Buffer>
  readonly tally: Tally
}

/** Makes the whole export without sending it. */
async function sendManifest(
  exchange: Exchange,
  { name, format, extent, location, body, tally }: Sent,
  silence: Millis,
): Promise<void> {
  const { response } = exchange
  const writeLineBreak = lineBreaksEvery(silence, response)
  for await (const _ of body) {
    if (response.destroyed) return
    resetIdleTime(response)
    writeLineBreak()
  }
  const figures = tally.figures()
  const manifest = { kind: name, format: format.name, location, revision: textOf(extent.revision), ...figures }
  const text = JSON.stringify({ ...manifest, columns: kinds[name].columns })
  if (response.headersSent) response.end(text)
  else answer(exchange, 200, json, text, privately)
}

async function sendRows(
  { method, request, response }: Exchange,
  { name, format, extent, location, body, tally }: Sent,
): Promise<void> {
  // HTTP/1.0, which proxies may use, has none.
  const hasTrailers = method === 'GET' && request.httpVersion !== '1.0'
  response.writeHead(200, {
    ...privately,
    ...(extent.revision !== null && { 'rollcall-revision': String(extent.revision) }),
    'content-type': format.mediaTypes[0],
    'content-disposition': `attachment; filename="${name}-${extent.revision ?? extent.parameters.upTo}.${format.extension}"`,
    'content-location': location,
    vary: 'accept',
    ...(hasTrailers && { trailer: 'rollcall-rows, rollcall-sha256, rollcall-cursor' }),
  })
  if (method === 'HEAD') {
    response.end()
    return
  }
  for await (const bytes of body) if (!(await send(response, bytes))) return
  const { rows, sha256, cursor } = tally.figures()
  const trailers = { 'rollcall-rows': String(rows), 'rollcall-sha256': sha256, 'rollcall-cursor': cursor ?? '' }
  if (hasTrailers) response.addTrailers(trailers)
  response.end()
}

const json = 'application/json'
const privately = { 'cache-control': 'private, no-store' } as const

/** The address of exactly this export, however the log grows. */
function locationOf(name: KindName, format: string, { parameters }: Extent): string {
  return `/export/${name}?${new URLSearchParams({ format, ...parameters })}`
}

const textOf = (revision: number | null): string | null => (revision === null ? null : String(revision))

/** Waits while the client reads slowly. False: the client is gone. */
async function send(response: ServerResponse, bytes: Buffer): Promise<boolean> {
  if (response.destroyed) return false
  if (bytes.length === 0) resetIdleTime(response)
  else if (!response.write(bytes)) await drained(response)
  return !response.destroyed
}

/** Making the whole export may take minutes. White space before JSON is allowed, so regular line breaks show that the server works. */
function lineBreaksEvery(silence: Millis, response: ServerResponse): () => void {
  let writtenAt = performance.now()
  return () => {
    if (performance.now() - writtenAt < silence) return
    writtenAt = performance.now()
    if (!response.headersSent) response.writeHead(200, { ...privately, 'content-type': json })
    response.write('\n')
  }
}

/** Where few rows match, nothing is sent for long. The connection is not idle. */
function resetIdleTime({ socket }: ServerResponse): void {
  socket?.setTimeout(socket.timeout ?? 0)
}
