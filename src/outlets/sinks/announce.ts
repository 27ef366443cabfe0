/**
 * The nodes in A&AI that an instance belongs to (docs/wire.md §4). so-cnf-adapter announces them, or an operator with `announceInstance`.
 * Without an announcement, no resource of the instance is in the inventory.
 */
import { randomUUID } from 'node:crypto'
import { DomainError } from '../../domain/errors.ts'
import type { Database, Session } from '../../store/database.ts'
import {
  countUnannounced,
  type InstanceRow,
  instanceById,
  unannouncedInstances,
} from '../../store/read/orchestration/instances.ts'
import { changeSink, createSink, listSinks, type Sink } from '../../store/sinks/sinks.ts'
import { awaitedBy, type Belonging } from './inventory-node.ts'

type Place = Pick<Belonging, 'cloudOwner' | 'cloudRegion' | 'tenantId' | 'genericVnfId' | 'vfModuleId' | 'callbackUrl'>

/** Announcements of one instance that wait for their result, besides the newest. */
const mostEarlier = 100

export interface Announcements {
  /** Keeps the inventory up to date with the instance; `isEnding`: removes its nodes, then the sink. */
  announce(instanceId: string, place: Place, isEnding: boolean): Promise<Sink>
  /** Resource bundles that nothing announced, oldest first. `within`: the session of the operation that asks. */
  unannounced(limit: number, within?: Session): Promise<InstanceRow[]>
  countUnannounced(within?: Session): Promise<number>
}

interface AnnouncementDeps {
  readonly database: Pick<Database, 'session'>
  /** Whether AAI_URL is set: without an inventory, nothing is missing from it. */
  readonly hasInventory: boolean
  /** Why a URL may not be called; null: it may. */
  readonly refuseTarget: (url: string) => string | null
  readonly refresh: () => void
  readonly clock: () => number
}

export function createAnnouncements(deps: AnnouncementDeps): Announcements {
  const { session } = deps.database

  async function announce(instanceId: string, place: Place, isEnding: boolean): Promise<Sink> {
    const refused = place.callbackUrl === null ? null : deps.refuseTarget(place.callbackUrl)
    if (refused !== null)
      throw new DomainError('SEMANTIC_ERROR', `callbackUrl ${refused}`, {
        problems: [{ field: 'callbackUrl', message: refused }],
      })
    if (!deps.hasInventory)
      throw new DomainError('CONFLICT', 'no inventory is configured here: set AAI_URL to where A&AI is')
    const instance = await instanceById(session, instanceId, null)
    if (!instance) {
      const message = `there is no instance ${instanceId}`
      throw new DomainError('NOT_FOUND_YET', message, { problems: [{ field: 'instanceId', message }] })
    }
    const request = { ...place, isEnding, request: randomUUID() }
    for (;;) {
      const [known] = await listSinks(session, ['INVENTORY'], instance.key)
      const sink = known
        ? await changeSink(session, known.key, { settings: after(known, request) }, String(known.settings.request))
        : await createInventorySink(instance, request).catch(unlessMade)
      // Null: the sink was removed, made or announced again after it was read.
      if (!sink) continue
      deps.refresh()
      return sink
    }
  }

  function after({ settings }: Sink, request: object): Sink['settings'] {
    const earlier = awaitedBy(settings as unknown as Belonging).slice(-mostEarlier)
    return { ...request, earlier }
  }

  function createInventorySink({ key, instanceId }: InstanceRow, request: object): Promise<Sink> {
    const settings = { ...request, toldRequest: null, inService: null }
    const sink = { kind: 'INVENTORY', name: instanceId, instanceKey: key, url: '', secret: null, filter: {} } as const
    return createSink(session, { ...sink, settings, cursor: 0 }, deps.clock())
  }

  function unlessMade(error: unknown): null {
    if (error instanceof DomainError && error.code === 'CONFLICT') return null
    throw error
  }

  return {
    announce,
    unannounced: async (limit, within = session) => (deps.hasInventory ? unannouncedInstances(within, limit) : []),
    countUnannounced: async (within = session) => (deps.hasInventory ? countUnannounced(within) : 0),
  }
}
