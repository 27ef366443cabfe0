/**
 * One cluster, while this replica holds its lease:
 *
 *   list, page by page → objects that are not listed any more are gone → watch from there → …
 *
 *   the stream ends or breaks   continue at the last version, after a pause
 *   410 Gone                    list again; while listing: everything in one page
 *   nothing can be read         after some attempts list again: what cannot be read may be an event that the server repeats
 *   nothing in a whole stream   list again: the cluster may have been restored from a copy, so that its versions begin below ours
 *   the server refuses us       RETRYING, after further attempts OFFLINE; the pauses grow
 *   our database is away        list again; the state of the cluster does not change
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Verdict } from '../../domain/report.ts'
import type { TargetName } from '../../domain/target.ts'
import type { Millis } from '../../domain/values.ts'
import { type Paced, paced } from '../../platform/limits/pace.ts'
import type { Log } from '../../platform/log/log.ts'
import type { ListedObject } from '../../platform/outbound/list.ts'
import { type BackOff, pauseAfter } from '../../platform/timing/back-off.ts'
import type { Database } from '../../store/database.ts'
import { newestVersion, shownComponents } from '../../store/read/orchestration/cluster-watch.ts'
import { reportConnectivity } from '../commands/connectivity.ts'
import type { Writer } from '../writer.ts'
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
import { createPresentObjects, type PresentObjects } from './present-objects.ts'
import { createReachability } from './reachability.ts'
import { createStateSnapshots } from './state-snapshots.ts'
import type { WatchEvent } from './watch-events.ts'

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
  /** Milliseconds after which a stream without events counts as one that works. */
  readonly steady?: number
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
/** Consecutive attempts that end with 410 before that is an outage. */
const maxExpired = 4
/** Milliseconds after which a stream without events counts as one that works. */
const defaultSteady = 5_000

export function watchCluster(options: ClusterWatchOptions): ClusterWatch {
  const { api, target, database, writer, log, clock, observe, retryInterval = 1_000, mostObjects = 200_000 } = options
  const { backOff = defaultBackOff, steady = defaultSteady } = options
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
  let present = createPresentObjects()
  /** The version up to which every event was processed. Null: list first. */
  let after: string | null = null
  let isPaged = true
  /** Consecutive attempts that failed before any event. */
  let failures = 0
  let isLeftOutLogged = false
  const reachability = createReachability({
    ...{ cluster, log, signal, steady: Math.min(steady, api.streamSeconds * 1_000) },
    record: async (connectivity) => void (await writer.submit(reportConnectivity(target, connectivity))),
  })

  async function list(): Promise<string> {
    const { session } = database
    // Read before the list, which shows the cluster as it is now: only one that was restored from a copy has a lower version then.
    const newest = await newestVersion(session, target.provider, target.name)
    const known = await shownComponents(session, target.provider, target.name)
    let isRestored = false
    const listed = createPresentObjects()
    const labels = new Set<string>()
    let version = ''
    let [left, unreadable] = [0, 0]
    isIncomplete = false
    isListWanted = false
    for await (const page of api.list(path, signal, isPaged)) {
      version = page.resourceVersion
      isRestored = newest !== null && /^\d{1,30}$/.test(version) && BigInt(version) < BigInt(newest)
      const resources = await paced(readAll(page.objects, listed))
      left += page.others + page.unreadable + page.objects.filter(({ object }) => nameOf(object) === null).length
      unreadable += page.unreadable
      for (const { label } of resources) labels.add(label)
      await stateSnapshots.take(isRestored ? resources.map(withoutVersion) : resources)
    }
    isPaged = true
    if (isRestored) log.warn({ cluster, version, newest }, 'the versions of a cluster begin again: it was listed anew')
    if (left === 0) isLeftOutLogged = false
    noteLeftOut(left)
    // What could not be read may be any of those that were not listed.
    const gone = unreadable > 0 ? [] : known.filter((one) => !labels.has(labelOf(one)))
    await stateSnapshots.take(gone.map((one) => goneResource(one, isRestored ? null : version)))
    pending.sweep((label) => labels.has(label))
    present = listed
    return version
  }

  async function watch(from: string): Promise<void> {
    const beganAt = performance.now()
    let isEmpty = true
    for await (const { events, leftOut } of api.watch(path, from, signal)) {
      noteLeftOut(leftOut)
      const last = events.at(-1)
      if (!last) {
        if (leftOut === 0) await reachability.opened()
        continue
      }
      await stateSnapshots.take(await paced(resourcesAfter(events)))
      after = resourceVersionOf(last.object) ?? after
      failures = 0
      isEmpty = false
      await reachability.proved()
    }
    // Without any change it sends a bookmark each minute, but none of a version before `from`.
    if (isEmpty && performance.now() - beganAt >= api.streamSeconds * 1000) after = null
    if (!reachability.isProved) throw new ApiServerError('it ends its stream at once')
  }

  function noteLeftOut(count: number): void {
    if (count === 0) return
    observe('REFUSED', count)
    if (!isLeftOutLogged) log.warn({ cluster, count }, 'what is no object that can be read is left out')
    isLeftOutLogged = true
  }

  /** What events of the watch change. */
  function* resourcesAfter(events: readonly WatchEvent[]): Paced<CustomResource[]> {
    const changed: CustomResource[] = []
    for (const event of events) {
      changed.push(...(yield* resourcesOf(event)))
      yield
    }
    return changed
  }

  /** What one event changes: the state of its object, and the end of what the object was before. */
  function* resourcesOf({ type, object, size }: WatchEvent): Paced<CustomResource[]> {
    const name = nameOf(object)
    if (type !== 'BOOKMARK' && name === null) noteLeftOut(1)
    if (type === 'BOOKMARK' || name === null) return []
    const before = present.get(name)
    const isGone = type === 'DELETED'
    const resources = yield* read({ object, size }, name, isGone, present)
    // If an object changes its label or is deleted, its state is removed, unless another object has the same label.
    const hasLeft = before && resources[0]?.label !== labelOf(before) && !present.isShown(labelOf(before))
    return [
      ...(hasLeft ? [goneResource(before, resourceVersionOf(object))] : []),
      ...resources.filter(({ label }) => !isGone || !present.isShown(label)),
    ]
  }

  function* readAll(objects: readonly ListedObject[], into: PresentObjects): Paced<CustomResource[]> {
    const found: CustomResource[] = []
    for (const one of objects) {
      const name = nameOf(one.object)
      if (name !== null) found.push(...(yield* read(one, name, false, into)))
      yield
    }
    return found
  }

  /** None: it does not name its instance. */
  function* read(
    { object, size }: ListedObject,
    name: string,
    isGone: boolean,
    into: PresentObjects,
  ): Paced<CustomResource[]> {
    const one = yield* readCustomResource(object, size, isGone)
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

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let wanted = 0
      reachability.begin()
      try {
        after ??= await list()
        await watch(after)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures = reachability.isProved ? 1 : failures + 1
        wanted = await pauseOf(error)
      }
      if (isListWanted) after = null
      const own = pauseAfter(backOff, Math.max(failures - 1, 0))
      await sleep(Math.max(own, wanted), undefined, { signal }).catch(() => undefined)
    }
  }

  /** Decides what a failed attempt changes. Returns the pause that the API server asks for, in milliseconds, if it is not longer than our own ones. */
  async function pauseOf(error: unknown): Promise<number> {
    if (!(error instanceof ApiServerError)) {
      after = null
      log.warn({ cluster, error }, 'the state of a cluster was not written: trying again')
      return 0
    }
    if (error.isExpired) {
      isPaged = after !== null
      after = null
    }
    // A version may expire once, or a few times while everything is listed.
    if (!error.isExpired || failures >= maxExpired) await reachability.failed(error)
    if (reachability.isLost) after = null
    return Math.min(error.retryAfter ?? 0, backOff.longest)
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
