/**
 * Reconciles A&AI with an instance's resources (docs/wire.md §4). Each resource is one k8s-resource. Transactions change at most thirty nodes, with
 * optimistic locking. The operational-status of the vf-module or generic-vnf follows from the readiness of the instance.
 *
 *   resources ≠ marks → GET each resource-version → put, delete → 412: again from the GET → write the marks, chunk by chunk
 */
import type { Revision } from '../../domain/values.ts'
import { fewAtOnce } from '../../platform/timing/few-at-once.ts'
import type { Database } from '../../store/database.ts'
import { instancesByKey } from '../../store/read/orchestration/instances.ts'
import { type Mark, marksOf, writeMarks } from '../../store/sinks/sink-marks.ts'
import { deleteSink, type Sink } from '../../store/sinks/sinks.ts'
import { type Aai, type AaiConfig, createAai, type Operation, operationLimit } from './aai.ts'
import { awaitedBy, type Belonging, describeNode, modulePath, vnfPath } from './inventory-node.ts'
import { differenceOf, type PresentResource, type PresentState, readPresent } from './reconcile.ts'
import { type Deliver, type Round, roundAt } from './round.ts'
import { type Send, SendError } from './send.ts'

interface InventoryDeps {
  readonly database: Database
  /** Sends to A&AI. */
  readonly sendToAai: Send
  /** Sends to the caller's callbackUrl. */
  readonly send: Send
  readonly config: AaiConfig
  /** Our public URL, for selflinks. */
  readonly publicUrl: string
}

/** Attempts at a transaction while another client changes its nodes. */
const tries = 5
/** Consecutive failures after which the caller receives FAILED. The sink continues to retry. */
const maxFailures = 3

export function createInventoryDeliver(deps: InventoryDeps): Deliver {
  const aai = createAai(deps.config, deps.sendToAai)
  return async (sink, _, { isOver: isStopped }) => {
    const announced = sink.settings as unknown as Belonging
    const { request } = announced
    const awaited = awaitedBy(announced)
    const isAwaited = awaited.length > 0
    // The last status was written to the module of the announcement before.
    const belonging = isAwaited ? { ...announced, inService: null } : announced
    const present = await readWanted(deps, sink, belonging)
    let isAccepted = false
    const accepted = (): void => {
      isAccepted = true
    }
    const end = (cursor: Revision, result: Partial<Omit<Round, 'cursor'>> = {}): Round =>
      roundAt(cursor, { isSent: true, isAccepted, ...result })
    try {
      const isWhole = await reconcile(deps, aai, { sink, belonging, present }, isStopped, accepted)
      if (!isWhole) return end(sink.cursor)
      const inService = await setOperationalStatus(aai, belonging, present)
      await sendResult(deps, awaited, 'COMPLETED', 'the inventory is level')
      if (belonging.isEnding) await deleteSink(deps.database.session, sink.key, request)
      return end(present.revision, {
        status: 200,
        settings: { toldRequest: request, inService },
      })
    } catch (cause) {
      // A failure of our database is not one of A&AI, and its text is not for the caller.
      if (!(cause instanceof SendError)) throw cause
      const error = cause.message
      const status = 'status' in cause ? Number(cause.status) : null
      const failures = isAccepted ? 1 : sink.failures + 1
      if (!isAwaited || failures < maxFailures) return end(sink.cursor, { status, error })
      const isReported = await sendResult(deps, awaited, 'FAILED', error).then(
        () => true,
        () => false,
      )
      return end(sink.cursor, {
        status,
        error,
        ...(isReported && { settings: { toldRequest: request, inService: null } }),
      })
    }
  }
}

interface Wanted extends PresentState {
  readonly instanceId: string
}

async function readWanted({ database, config }: InventoryDeps, sink: Sink, { isEnding }: Belonging): Promise<Wanted> {
  const { includeKinds, excludeKinds } = config
  const isWanted = (kind: string): boolean => (includeKinds?.includes(kind) ?? true) && !excludeKinds.includes(kind)
  const instanceKey = sink.instanceKey ?? 0
  const snapshot = await database.snapshot()
  try {
    const present = await readPresent(snapshot, instanceKey, isWanted)
    const instance = (await instancesByKey(snapshot, [instanceKey], null)).get(instanceKey)
    return { ...present, resources: isEnding ? [] : present.resources, instanceId: instance?.instanceId ?? '' }
  } finally {
    await snapshot.close()
  }
}

/** Makes A&AI equal to the present resources. `accepted`: called after each transaction. False: the time ended before all were written. */
async function reconcile(
  { database: { session }, publicUrl }: InventoryDeps,
  aai: Aai,
  { sink, belonging, present }: { readonly sink: Sink; readonly belonging: Belonging; readonly present: Wanted },
  isStopped: () => boolean,
  accepted: () => void,
): Promise<boolean> {
  const relationships = await relationshipsOf(aai, belonging)
  const describe = (resource: PresentResource) =>
    describeNode(publicUrl, belonging, present.instanceId, resource, relationships)
  const { work, unsent } = planWork(present.resources, await marksOf(session, sink.key), describe)
  for (let start = 0; start < work.length; start += operationLimit) {
    if (isStopped()) return false
    const chunk = work.slice(start, start + operationLimit)
    await transact(aai, chunk)
    const put = chunk.flatMap(({ put }) => put ?? [])
    const dropped = chunk.flatMap(({ drop }) => drop ?? [])
    await writeMarks(session, sink.key, put, dropped)
    accepted()
  }
  if (unsent.length > 0) await writeMarks(session, sink.key, unsent, [])
  return true
}

/** A node to put or to delete, and the mark that is written or dropped with it. */
interface Work {
  readonly uri: string
  /** Null: the node is deleted. */
  readonly body: Readonly<Record<string, unknown>> | null
  readonly put: Mark | null
  readonly drop: number | null
}

/** `unsent`: marks of resources whose object changed and whose node did not. */
function planWork(
  resources: readonly PresentResource[],
  known: ReadonlyMap<number, Mark>,
  describe: (resource: PresentResource) => ReturnType<typeof describeNode>,
): { readonly work: readonly Work[]; readonly unsent: readonly Mark[] } {
  const { created, modified, deleted, marks } = differenceOf(resources, known, describe)
  const byUri = new Map(marks.map((mark) => [mark.told.uri, mark]))
  const puts = [...created, ...modified].map(({ uri, body }) => ({
    uri,
    body,
    put: byUri.get(uri) ?? null,
    drop: null,
  }))
  // A resource of another API version has another id: its former node is deleted.
  const renamed = puts.flatMap(({ uri, put }) => {
    const before = put && known.get(put.resourceKey)
    return before && before.told.uri !== uri ? [String(before.told.uri)] : []
  })
  const sent = new Set(puts.map(({ put }) => put))
  return {
    work: [
      ...puts,
      ...renamed.map((uri) => ({ uri, body: null, put: null, drop: null })),
      ...deleted.map(({ told, resourceKey }) => ({ uri: String(told.uri), body: null, put: null, drop: resourceKey })),
    ],
    unsent: marks.filter((mark) => !sent.has(mark)),
  }
}

async function transact(aai: Aai, chunk: readonly Work[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const operations: Operation[] = []
    for (const { uri, body } of chunk) {
      const version = (await aai.read(uri))?.version ?? null
      if (body)
        operations.push({
          action: 'put',
          uri,
          body: version === null ? body : { ...body, 'resource-version': version },
        })
      else if (version !== null)
        operations.push({
          action: 'delete',
          uri: `${uri}?resource-version=${encodeURIComponent(version.toWellFormed())}`,
          body: {},
        })
    }
    if (operations.length === 0 || (await aai.transact(operations))) return
    if (attempt === tries) throw new SendError('A&AI: another client changed the nodes during every attempt (412)')
  }
}

/** Relationships to both nodes, if they exist: A&AI refuses a relationship to a missing node. */
async function relationshipsOf(aai: Aai, belonging: Belonging): Promise<object[]> {
  const nodes = [
    ['generic-vnf', vnfPath(belonging)],
    ['vf-module', modulePath(belonging)],
  ] as const
  const found: object[] = []
  for (const [related, path] of nodes)
    if (path && (await aai.read(path))) found.push({ 'related-to': related, 'related-link': aai.link(path) })
  return found
}

/** Sets the status of the vf-module, or else of the generic-vnf, and returns it. A k8s-resource has no status field. */
async function setOperationalStatus(
  aai: Aai,
  belonging: Belonging,
  { readiness }: PresentState,
): Promise<boolean | null> {
  const path = modulePath(belonging) ?? vnfPath(belonging)
  const inService = readiness === 'READY' && !belonging.isEnding
  if (!path || belonging.inService === inService) return belonging.inService
  const status = inService ? 'in-service-path' : 'out-of-service-path'
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    const node = await aai.read(path)
    if (!node) return null
    if (node.operationalStatus === status) return inService
    const { version } = node
    const body = { 'operational-status': status, ...(version !== null && { 'resource-version': version }) }
    if (await aai.transact([{ action: 'patch', uri: path, body }])) return inService
  }
  throw new SendError('A&AI: another client changed the node during every attempt (412)')
}

/** Requests to earlier callers at the same time. The answers of a hundred would be parsed without a pause. */
const mostCallbacks = 10

/** Sends the result to the callers of all awaited announcements. Throws if the caller of the newest one does not accept it. An earlier one must not delay it. */
async function sendResult(
  { send }: InventoryDeps,
  awaited: ReturnType<typeof awaitedBy>,
  completionStatus: 'COMPLETED' | 'FAILED',
  message: string,
): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ completionStatus, message })
  const tell = async ({ callbackUrl }: (typeof awaited)[number]): Promise<void> => {
    if (callbackUrl === null) return
    const { status } = await send({ method: 'POST', url: callbackUrl, headers, body })
    if (status < 200 || status >= 300) throw new SendError(`the callback answered ${status}`)
  }
  const newest = awaited.at(-1)
  const answered = newest && tell(newest)
  await Promise.allSettled([answered, fewAtOnce(awaited.slice(0, -1), mostCallbacks, tell)])
  await answered
}
