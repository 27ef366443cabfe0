/**
 * How results are written to a response that stays open:
 *
 *   server-sent events   id: 1234          on `changes`: the cursor of the event, selected or not, for Last-Event-ID
 *                        event: next       data: one execution result        …until   event: complete
 *   multipart            {"payload": …}    a part each, after the cursor in its header Last-Event-ID        …until   --graphql--
 *
 * Both begin at once, and send a comment or `{}` every 12 s, so that proxies do not close an idle connection.
 */
import type { Revision } from '../../../domain/values.ts'

export interface EventFormat {
  readonly mediaType: string
  readonly contentType: string
  /** `cursor`: where a client continues that is disconnected before the first event. */
  begin(cursor: Revision | null): string
  readonly keepAlive: string
  /** `result`: as JSON. */
  next(result: string, cursor: Revision | null): string
  /** `errors`: as JSON. They end the stream. */
  fail(errors: string): string
  readonly end: string
}

const blank = ':\n\n'
const sent = (result: string, cursor: Revision | null): string =>
  `${cursor === null ? '' : `id: ${cursor}\n`}event: next\ndata: ${result}\n\n`

/** graphql-sse's "distinct connections", and any EventSource. */
export const serverSentEvents: EventFormat = {
  mediaType: 'text/event-stream',
  contentType: 'text/event-stream; charset=utf-8',
  // A client may be disconnected before the first event.
  begin: (cursor) => (cursor === null ? blank : `id: ${cursor}\n\n`),
  keepAlive: blank,
  next: sent,
  fail: (errors) => sent(`{"errors":${errors}}`, null),
  end: 'event: complete\ndata:\n\n',
}

/** A client knows the end of a part by the boundary after it. */
export const boundary = '\r\n--graphql'
export const partOf = (body: string, cursor: Revision | null = null): string =>
  `\r\nContent-Type: application/json\r\n${cursor === null ? '' : `Last-Event-ID: ${cursor}\r\n`}\r\n${body}${boundary}`

/** Apollo's subscriptions over multipart HTTP. */
export const multipart: EventFormat = {
  mediaType: 'multipart/mixed',
  contentType: 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0',
  begin: (cursor) => (cursor === null ? boundary : `${boundary}${partOf('{}', cursor)}`),
  keepAlive: partOf('{}'),
  next: (result, cursor) => partOf(`{"payload":${result}}`, cursor),
  fail: (errors) => partOf(`{"payload":null,"errors":${errors}}`),
  end: '--\r\n',
}

/** Whether a client asks for parts, and would not rather have server-sent events. */
export const asksForParts = (accept: string): boolean =>
  /multipart\/mixed[^,]*;\s*subscriptionspec="?1\.0"?/i.test(accept.slice(0, longestAccept)) &&
  !/text\/event-stream/i.test(accept)

/** Characters that are read: of a long one, the expression would take the square of its length. */
const longestAccept = 500
