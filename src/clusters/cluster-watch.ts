/**
 * One cluster, while this replica holds its lease:
 *
 *   list, page by page → objects that are not listed any more are gone → watch from there → …
 *
 *   the stream ends or breaks   continue at the last version, after a pause
 *   410 Gone                    list again; while listing: everything in one page
 *   nothing in a whole stream   list again: the cluster may have been restored from a copy, so that its versions begin below ours
 *   the server refuses us       RETRYING, after further attempts OFFLINE; the pauses grow
 *   our database is away        list again; the state of the cluster does not change
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Verdict } from '../domain/report.ts'
import type { Connectivity, TargetName } from '../domain/target.ts'
import type { Millis } from '../domain/values.ts'
import { reportConnectivity } from '../ingest/commands/connectivity.ts'
import type { Writer } from '../ingest/writer.ts'
import { eachPaced, paced } from '../limits/pace.ts'
import type { Log } from '../log/log.ts'
import type { Database } from '../store/database.ts'
import { newestVersion, shownComponents } from '../store/read/orchestration/cluster-watch.ts'
import { type BackOff, pauseAfter } from '../timing/back-off.ts'
import type { ApiServer } from './api-server.ts'
import { ApiServerError } from './api-server-error.ts'
import {
  type CustomResource,
  goneResource,
  labelOf,
  nameOf,
  path,
  readCustomResource,
  resourceVersionOf,
  withoutVersion,
} from './custom-resource.ts'
import { createPendingStates, type PendingStatesLimits } from './pending-states.ts'
import { createStateSnapshots } from './state-snapshots.ts'
import type { WatchEvent } from './watch-events.ts'

type Owner = Pick<CustomResource['state'], 'context' | 'component' | 'uid'>

export interface ClusterWatch {
  readonly state: { readonly failures: number; readonly waiting: number }
  /** An instance exists that may be new. */
  instanceCreated(instanceId: string): void
  /** Resolves when work in progress has ended. Never rejects. */
  stop(): Promise<void>
}

export interface ClusterTuning {
  /** Between attempts to watch. */
  readonly backOff?: BackOff
  readonly waiting?: PendingStatesLimits
  /** Milliseconds between retries of pending objects. */
  readonly retryInterval?: number
  /** Custom resources of the cluster whose names are kept. */
  readonly mostObjects?: number
}

interface ClusterWatchOptions extends ClusterTuning {
  readonly api: ApiServer
  readonly target: TargetName
  readonly database: Database
  readonly writer: Writer
  readonly log: Log
  readonly clock: () => Millis
  readonly observe: (verdict: Verdict | 'REFUSED' | 'DROPPED', count: number) => void
}

/** Milliseconds. */
const defaultBackOff: BackOff = { first: 1_000, longest: 60_000 }
/** Consecutive failed attempts to reach the cluster before it is OFFLINE. */
const maxRefusals = 3

export function watchCluster(options: ClusterWatchOptions): ClusterWatch {
  const { api, target, database, writer, log, clock, observe, retryInterval = 1_000, mostObjects = 200_000 } = options
  const backOff = options.backOff ?? defaultBackOff
  const cluster = `${target.provider}+${target.name}`
  const leaving = new AbortController()
  const { signal } = leaving

  /** Objects of unknown instances were dropped, and a new instance exists: another list shows whether they belong to it. */
  let isIncomplete = false
  let isListWanted = false
  const dropped = (count: number): void => {
    isIncomplete = true
    observe('DROPPED', count)
    log.warn({ cluster, count }, 'too many states of unknown instances from the cluster: some were dropped')
  }
  const pending = createPendingStates(clock, dropped, options.waiting)
  const taken = (verdict: Verdict | 'REFUSED'): void => observe(verdict, 1)
  const stateSnapshots = createStateSnapshots({ database, writer, target, pending, signal, log, observe: taken })

  /** Objects in the cluster, by name. */
  let present = new Map<string, Owner>()
  /** The version up to which every event was processed. Null: list first. */
  let after: string | null = null
  let isPaged = true
  /** Consecutive attempts that failed before any event, and consecutive attempts that the API server refused. */
  let failures = 0
  let refusals = 0
  let wasReachable = false
  let connectivity: Connectivity | null = null
  let lastFailure: string | null = null

  async function list(): Promise<string> {
    const { session } = database
    // Read before the list, which shows the cluster as it is now: only one that was restored from a copy has a lower version then.
    const newest = await newestVersion(session, target.provider, target.name)
    const known = await shownComponents(session, target.provider, target.name)
    let isRestored = false
    const listed = new Map<string, Owner>()
    const labels = new Set<string>()
    let version = ''
    isIncomplete = false
    isListWanted = false
    for await (const page of api.list(path, signal, isPaged)) {
      if (version === '') await noteReachable()
      version = page.resourceVersion
      isRestored = newest !== null && /^\d{1,30}$/.test(version) && BigInt(version) < BigInt(newest)
      const resources = (await paced(eachPaced(page.items, (object) => read(object, false, listed)))).flat()
      for (const { label } of resources) labels.add(label)
      await stateSnapshots.take(isRestored ? resources.map(withoutVersion) : resources)
    }
    isPaged = true
    if (isRestored) log.warn({ cluster, version, newest }, 'the versions of a cluster begin again: it was listed anew')
    const gone = known.filter((one) => !labels.has(labelOf(one)))
    await stateSnapshots.take(gone.map((one) => goneResource(one, isRestored ? null : version)))
    pending.sweep((label) => labels.has(label))
    present = listed
    return version
  }

  async function watch(from: string): Promise<void> {
    const beganAt = performance.now()
    let isEmpty = true
    for await (const events of api.watch(path, from, signal)) {
      const last = events.at(-1)
      if (!last) {
        await noteReachable()
        continue
      }
      await stateSnapshots.take(events.flatMap(resourcesAfter))
      after = resourceVersionOf(last.object) ?? after
      failures = 0
      isEmpty = false
    }
    // Without any change it sends a bookmark each minute, but none of a version before `from`.
    if (isEmpty && performance.now() - beganAt >= api.streamSeconds * 1000) after = null
  }

  /** What an event of the watch changes: the state of its object, and the end of what the object was before. */
  function resourcesAfter({ type, object }: WatchEvent): CustomResource[] {
    if (type === 'BOOKMARK') return []
    const before = present.get(nameOf(object))
    const isGone = type === 'DELETED'
    const resources = read(object, isGone, present)
    const isShown = (label: string): boolean => present.values().some((one) => labelOf(one) === label)
    // If an object changes its label or is deleted, its state is removed, unless another object has the same label.
    const hasLeft = before && resources[0]?.label !== labelOf(before) && !isShown(labelOf(before))
    return [
      ...(hasLeft ? [goneResource(before, resourceVersionOf(object))] : []),
      ...resources.filter(({ label }) => !isGone || !isShown(label)),
    ]
  }

  /** None: it does not name its instance. */
  function read(object: object, isGone: boolean, into: Map<string, Owner>): CustomResource[] {
    const one = readCustomResource(object, isGone)
    const name = nameOf(object)
    into.delete(name)
    if (!one) {
      log.debug({ cluster, name }, 'a ResourceBundleState does not name its instance')
      return []
    }
    const { context, component, uid } = one.state
    // Without a limit, pages or events without end fill the memory.
    if (!isGone && into.size >= mostObjects)
      throw new ApiServerError(`it has more than ${mostObjects} ResourceBundleStates`)
    if (!isGone) into.set(name, { context, component, uid })
    return [one]
  }

  async function noteReachable(): Promise<void> {
    wasReachable = true
    refusals = 0
    lastFailure = null
    await recordConnectivity('ONLINE')
  }

  async function recordConnectivity(to: Connectivity): Promise<void> {
    // A repeated ONLINE is written as a sign of life. A repeated loss is not written.
    if (to === connectivity && to !== 'ONLINE') return
    signal.throwIfAborted()
    await writer.submit(reportConnectivity(target, to))
    if (to !== connectivity) log.info({ cluster, connectivity: to }, 'the connection to a cluster has changed')
    connectivity = to
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let wanted = 0
      wasReachable = false
      try {
        after ??= await list()
        await watch(after)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures += 1
        wanted = await pauseOf(error)
      }
      if (isListWanted) after = null
      const own = pauseAfter(backOff, Math.max(failures - 1, 0))
      await sleep(Math.max(own, wanted), undefined, { signal }).catch(() => undefined)
    }
  }

  /** Decides what a failed attempt changes. Returns the pause that the API server asks for, in milliseconds. */
  async function pauseOf(error: unknown): Promise<number> {
    if (!(error instanceof ApiServerError)) {
      after = null
      log.warn({ cluster, error }, 'the state of a cluster was not written: trying again')
      return 0
    }
    if (error.isExpired) {
      isPaged = after !== null
      after = null
    } else await noteFailure(error)
    return error.retryAfter ?? 0
  }

  /** A broken stream alone does not change the connectivity. The next attempt does. */
  async function noteFailure({ message }: ApiServerError): Promise<void> {
    if (wasReachable) {
      log.info({ cluster }, `the watch of a cluster was interrupted: ${message}`)
      return
    }
    if (message !== lastFailure) log.warn({ cluster, failures }, `a cluster cannot be watched: ${message}`)
    lastFailure = message
    refusals += 1
    // A replica that has just begun to watch does not know whether the cluster was ONLINE before.
    const to = refusals >= maxRefusals ? 'OFFLINE' : connectivity === 'ONLINE' ? 'RETRYING' : null
    if (to) await recordConnectivity(to).catch(() => undefined)
  }

  const retry = (pick: () => readonly CustomResource[]): void => void stateSnapshots.retry(pick).catch(() => undefined)
  const timer = setInterval(() => retry(pending.due), retryInterval)
  const running = run()

  return {
    get state() {
      return { failures, waiting: pending.size }
    },
    instanceCreated(instanceId) {
      if (isIncomplete) isListWanted = true
      if (pending.ofContext(instanceId).length > 0) retry(() => pending.ofContext(instanceId))
    },
    async stop() {
      leaving.abort()
      clearInterval(timer)
      await running
      await stateSnapshots.retry(() => [])
    },
  }
}
