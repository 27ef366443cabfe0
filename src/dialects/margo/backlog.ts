/**
 * POST /reports: what a device or gateway could not send while it was away, in one request. Ours, so it is ours to define:
 *
 *   {"reports": [item, …]}, or the bare list, or NDJSON with an item a line; at most 10,000 items
 *   item = any Margo body + who reports: `reporter` (or `clientId`), else the credential's client, else the gateway that `deviceId` begins with
 *
 * So {"deviceId": "edge-7", …} is what POST /device/edge-7/deployment/… would have been, and {"deviceId": "gw/pump", …} is gw's report about its child.
 * What is wrong with one item is that item's answer; only a body that has no items to answer is refused as a whole.
 */

import { DomainError } from '../../domain/errors.ts'
import type { StatusReport } from '../../domain/report.ts'
import { isDeeperThan } from '../../limits/nesting.ts'
import { deepest, parseJson } from './json.ts'
import { readReport, requireObject } from './parse.ts'
import { type Body, complain, isAbsent, isObject, type Problems, refusal, shown } from './problems.ts'
import { readId } from './text.ts'

export type BacklogItem =
  | { readonly ok: true; readonly report: StatusReport }
  | { readonly ok: false; readonly error: DomainError }

export const mostItems = 10_000

const ndjsonTypes: readonly string[] = ['application/x-ndjson', 'application/ndjson', 'application/jsonl']

/** What POST /reports takes; anything else is UNSUPPORTED_MEDIA_TYPE. */
export const backlogMediaTypes: readonly string[] = ['application/json', ...ndjsonTypes]

/** How deep the whole may nest before its items are told apart: one item too deep is that item's problem. */
const deepestBacklog = 1024

/** `credential` is the client that the request's credential names, null in open mode. Throws INVALID_REQUEST, SEMANTIC_ERROR or TOO_LARGE for the whole. */
export function parseBacklog(
  body: Uint8Array | string,
  contentType: string | undefined,
  credential: string | null = null,
): readonly BacklogItem[] {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const items = ndjsonTypes.includes(mediaType) ? readLines(body) : readList(parseJson(body, deepestBacklog))
  if (items.length > mostItems) throw new DomainError('TOO_LARGE', `A backlog may have at most ${mostItems} reports.`)
  return items.map((item) => parseItem(item, credential))
}

/** Gives the item's JSON, or throws what is wrong with it. */
type Item = () => unknown

function readList(document: unknown): readonly Item[] {
  const list = isObject(document) ? document.reports : document
  if (Array.isArray(list)) return list.map((item: unknown) => () => requireShallow(item))
  if (!isObject(document))
    throw new DomainError('INVALID_REQUEST', `The body must be a JSON object or list, but is ${shown(document)}.`)
  throw refusal([{ field: 'reports', message: `must be a list of reports, but is ${shown(list)}` }], 'The backlog')
}

function requireShallow(item: unknown): unknown {
  if (!isDeeperThan(item, deepest)) return item
  throw new DomainError('INVALID_REQUEST', `The report is nested deeper than ${deepest} levels.`)
}

/** Each line is decoded by itself, so that broken UTF-8 in one is its own problem too. */
function readLines(body: Uint8Array | string): readonly Item[] {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const items: Item[] = []
  for (let start = 0; start < bytes.length && items.length <= mostItems; ) {
    const newline = bytes.indexOf(0x0a, start)
    const end = newline === -1 ? bytes.length : newline
    const line = bytes.subarray(start, end)
    if (!line.every(isBlank)) items.push(() => parseJson(line))
    start = end + 1
  }
  return items
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d
}

function parseItem(item: Item, credential: string | null): BacklogItem {
  try {
    return { ok: true, report: readItem(requireObject(item()), credential) }
  } catch (error) {
    if (error instanceof DomainError) return { ok: false, error }
    throw error
  }
}

function readItem(item: Body, credential: string | null): StatusReport {
  const problems: Problems = { list: null }
  const reporter = readReporter(problems, item, credential)
  const report = readReport(problems, item, { deploymentId: null, reporter, requiresVersion: false })
  if (report === null) throw refusal(problems.list ?? [])
  return report
}

function readReporter(problems: Problems, item: Body, credential: string | null): string | null {
  if (!isAbsent(item.reporter)) return readId(problems, 'reporter', item.reporter)
  if (!isAbsent(item.clientId)) return readId(problems, 'clientId', item.clientId)
  if (credential === null && isAbsent(item.deviceId))
    complain(
      problems,
      'deviceId',
      'must be given where nothing else (a credential, reporter, clientId) says who reports',
    )
  return credential
}
