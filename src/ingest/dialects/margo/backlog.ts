/**
 * POST /reports: the reports that a device or gateway could not send while it was offline, in one request. This format is Rollcall's own:
 *
 *   {"reports": [item, …]}, or the bare list, or NDJSON with one item a line; at most 10,000 items
 *   item = any Margo body + the reporter: `reporter` (or `clientId`), else the credential's client, else the gateway in `deviceId`
 *
 * So {"deviceId": "edge-7", …} equals POST /device/edge-7/deployment/…, and {"deviceId": "gw/pump", …} is a report of gw about its child.
 * An error in one item is the result of that item only. The body as a whole is refused only if it contains no items.
 */
import { isUtf8 } from 'node:buffer'
import { DomainError } from '../../../domain/errors.ts'
import type { StatusReport } from '../../../domain/report.ts'
import { deepest, parseJson } from '../../../platform/body/json.ts'
import {
  type Measure,
  notJson,
  openList,
  openObject,
  type Part,
  TooDeep,
  trim,
} from '../../../platform/body/json-parts.ts'
import {
  measureOf,
  memberOf,
  partsOf,
  readPart,
  readPiece,
  scanElements,
  whole,
} from '../../../platform/body/json-reader.ts'
import { type Body, complain, isAbsent, type Problems, refusal, shown } from '../../../platform/body/problems.ts'
import { readId } from '../../../platform/body/text.ts'
import { decodeDamaged } from '../../../platform/body/utf8.ts'
import { isDeeperThan } from '../../../platform/limits/nesting.ts'
import { eachPaced, type Paced } from '../../../platform/limits/pace.ts'
import type { BacklogItem } from '../devices.ts'
import { readReport, requireObject } from './parse.ts'
import { newReading, refusalOf } from './reading.ts'

export const mostItems = 10_000

const ndjsonTypes: readonly string[] = ['application/x-ndjson', 'application/ndjson', 'application/jsonl']

/** The media types of POST /reports. Any other is UNSUPPORTED_MEDIA_TYPE. */
export const backlogMediaTypes: readonly string[] = ['application/json', ...ndjsonTypes]

/** The nesting limit of the whole body, before it is split into items. An item that nests too deep is refused alone. */
const deepestBacklog = 1024

/** Bytes of a backlog up to which its reports stay in memory between checking and writing. */
const keptSize = 1 << 20

/** Bytes: the same limit as for a single report. */
export const largestReport = 1 << 20

/** The number of problems, over all items, that are listed in full. It keeps the answer smaller than the request. */
const mostProblems = 10_000

/** `credential`: the client that the request's credential names, null in open mode. Throws INVALID_REQUEST, SEMANTIC_ERROR or TOO_LARGE for the whole body. */
export function* parseBacklog(
  body: Uint8Array | string,
  contentType: string | undefined,
  credential: string | null = null,
): Paced<readonly BacklogItem[]> {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const items = yield* ndjsonTypes.includes(mediaType) ? readLines(bytes) : readList(bytes)
  const isKept = bytes.length <= keptSize
  let listed = 0
  return yield* eachPaced(items, (item): BacklogItem => {
    const parsed = parseItem(item, credential)
    if (parsed.ok) {
      const { reporter } = parsed.report
      return { ok: true, reporter, size: item.size, read: isKept ? keeping(parsed.report) : reading(item, credential) }
    }
    listed += parsed.error.problems.length
    return { ok: false, error: listed > mostProblems ? withFirstProblem(parsed.error) : parsed.error }
  })
}

// Separate functions: closures of one scope share its variables, so the second would keep the report as well.
function keeping(report: StatusReport): () => StatusReport {
  return () => report
}

function reading(item: Item, credential: string | null): () => StatusReport {
  return () => {
    const parsed = parseItem(item, credential)
    if (!parsed.ok) throw parsed.error
    return parsed.report
  }
}

function withFirstProblem({ code, message, problems }: DomainError): DomainError {
  return new DomainError(code, message, { problems: problems.slice(0, 1) })
}

interface Item {
  readonly size: number
  readonly isUtf8: boolean
  /** Throws TooDeep, or problems of the whole body. */
  read(): unknown
  /** Returns the item's JSON, or throws the problem of the item. */
  check(sent: unknown): unknown
}

/** Counts the items while the body is split, before any item is read. */
function addTo(items: Item[], item: Item): void {
  if (items.length === mostItems)
    throw new DomainError('TOO_LARGE', `A backlog may have at most ${mostItems} reports: send several requests.`)
  items.push(item)
}

function* readList(bytes: Uint8Array): Paced<readonly Item[]> {
  // Bytes that are not UTF-8 are damage to their item, so each item is a part of its own.
  const measure = measureOf(bytes, deepestBacklog, { decode: decodeDamaged, ...(!isUtf8(bytes) && { piece: 0 }) })
  const all = whole(bytes)
  if (all.from === all.to) throw notJson('it is empty')
  if (bytes[all.from] === openList) return yield* readElements(measure, all, true)
  if (bytes[all.from] !== openObject) {
    const what = shown(yield* readPart(measure, all, undefined))
    throw new DomainError('INVALID_REQUEST', `The body must be a JSON object or list, but is ${what}.`)
  }
  // The last of repeated keys wins, as in JSON.parse.
  let large: Part | null = null
  let small: unknown
  for (const run of yield* partsOf(measure, all, true)) {
    if (run.to - run.from <= measure.piece) {
      const members = readPiece(measure, run, '{', '}') as Body
      if (Object.hasOwn(members, 'reports')) [large, small] = [null, members.reports]
    } else {
      const { key, value } = memberOf(measure, run)
      if (key === 'reports' && bytes[value.from] === openList) large = value
      else {
        const member = yield* readPart(measure, value, undefined)
        if (key === 'reports') [large, small] = [null, member]
      }
    }
    yield
  }
  if (large) return yield* readElements(measure, large, false)
  if (!Array.isArray(small))
    throw refusal([{ field: 'reports', message: `must be a list of reports, but is ${shown(small)}` }], 'The backlog')
  const items: Item[] = []
  for (const report of small) addTo(items, { size: 0, isUtf8: true, read: () => report, check: requireShallow })
  return items
}

function* readElements(measure: Measure, list: Part, isFirst: boolean): Paced<readonly Item[]> {
  const items: Item[] = []
  const { bytes } = measure
  yield* scanElements(measure, list, isFirst, (part) => {
    const sent = bytes.subarray(part.from, part.to)
    const isLarge = sent.length > largestReport
    addTo(items, {
      size: sent.length,
      isUtf8: isUtf8(sent),
      read: () => (isLarge ? null : parseJson(sent, deepest, decodeDamaged)),
      check: (value) => (isLarge ? refuseLarge() : value),
    })
  })
  return items
}

function refuseLarge(): never {
  throw new DomainError('TOO_LARGE', `The report is larger than ${largestReport} bytes, the limit of one report.`)
}

function requireShallow(item: unknown): unknown {
  if (!isDeeperThan(item, deepest)) return item
  throw new TooDeep(deepest)
}

function* readLines(bytes: Uint8Array): Paced<readonly Item[]> {
  const items: Item[] = []
  for (let start = 0; start < bytes.length; yield) {
    const { from } = trim(bytes, { from: start, to: Math.min(start + stride, bytes.length) })
    const newline = bytes.indexOf(0x0a, from)
    const end = newline === -1 ? bytes.length : newline
    const trimmed = trim(bytes, { from, to: end })
    const line = bytes.subarray(trimmed.from, trimmed.to)
    const size = line.length
    const check = () => (size > largestReport ? refuseLarge() : parseJson(line, deepest, decodeDamaged))
    if (size > 0) addTo(items, { size, isUtf8: isUtf8(line), read: () => null, check })
    start = end + 1
  }
  return items
}

/** Bytes of empty lines that are skipped at a time. */
const stride = 128 << 10

type ParsedItem =
  | { readonly ok: true; readonly report: StatusReport }
  | { readonly ok: false; readonly error: DomainError }

function parseItem(item: Item, credential: string | null): ParsedItem {
  let sent: unknown
  try {
    sent = item.read()
  } catch (error) {
    if (error instanceof TooDeep) return { ok: false, error }
    throw error
  }
  try {
    return { ok: true, report: readItem(requireObject(item.check(sent)), credential, item.isUtf8) }
  } catch (error) {
    if (error instanceof DomainError) return { ok: false, error }
    throw error
  }
}

function readItem(item: Body, credential: string | null, isUtf8: boolean): StatusReport {
  const problems = newReading(isUtf8)
  const reporter = readReporter(problems, item, credential)
  const report = readReport(problems, item, { deploymentId: null, reporter, requiresVersion: false })
  if (report === null) throw refusalOf(problems)
  return report
}

function readReporter(problems: Problems, item: Body, credential: string | null): string | null {
  if (!isAbsent(item.reporter)) return readId(problems, 'reporter', item.reporter)
  if (!isAbsent(item.clientId)) return readId(problems, 'clientId', item.clientId)
  if (credential === null && isAbsent(item.deviceId) && isAbsent(item.targetName))
    complain(problems, 'deviceId', 'must be set if no credential, reporter or clientId names the reporter')
  return credential
}
