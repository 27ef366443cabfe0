/** The devices as of a revision: those in service by name, then those that were retired. */
import type { Target } from '../../../domain/target.ts'
import { requireRetained } from '../../../store/read/past.ts'
import { type DeviceFilter, pageDevices, targetsByKey } from '../../../store/read/targets/targets.ts'
import { columnsOf, type Row } from '../columns.ts'
import { conditionParameters, conditionsOf, deviceFilterOf } from '../conditions.ts'
import { refused } from '../query.ts'
import { momentParameters, revisionOf } from './bounds.ts'
import type { Kind, Sessions } from './kind.ts'

const columns = columnsOf({
  deviceId: 'text',
  displayName: 'text',
  labels: 'json',
  registered: 'boolean',
  connectivity: 'text',
  maintenanceSince: 'time',
  maintenanceUntil: 'time',
  maintenanceReason: 'text',
  expectedInterval: 'count',
  parent: 'text',
  createdRevision: 'revision',
  retiredAt: 'time',
  retiredReason: 'text',
  replacedBy: 'text',
  cursor: 'text',
})

/** Rows of a part. A device may have two hundred kilobytes of labels. */
const size = 50

/** The first part of a cursor. */
const phases = ['service', 'retired'] as const
type Phase = (typeof phases)[number]

export const devices: Kind = {
  columns,
  accepts: [...momentParameters, ...conditionParameters],
  async open({ scoped }, query) {
    const revision = await revisionOf(scoped, query)
    const filter: DeviceFilter = deviceFilterOf(query)
    return {
      revision,
      parameters: { atRevision: String(revision), ...conditionsOf(query) },
      async read(sessions, cursor) {
        await requireRetained(sessions.whole, revision)
        const { phase, after } = readCursor(cursor)
        const pages = await pageDevices(
          sessions.scoped,
          { of: 'fleet' },
          { ...filter, retired: phase === 'retired' },
          { size, after, before: null, backward: false },
          undefined,
          revision,
        )
        const { edges = [], hasNextPage = false } = pages.get(0) ?? {}
        const cursors = edges.map((edge) => `${phase}.${edge.cursor}`)
        const rows = await rowsOf(
          sessions,
          edges.map(({ node }) => node),
          cursors,
        )
        const last = cursors.at(-1)
        if (hasNextPage && last !== undefined) return { rows, next: last }
        return { rows, next: phase === 'service' ? 'retired.' : null }
      },
    }
  },
}

function readCursor(cursor: string | null): { readonly phase: Phase; readonly after: string | null } {
  if (cursor === null) return { phase: 'service', after: null }
  const cut = cursor.indexOf('.')
  const phase = phases.find((known) => known === cursor.slice(0, cut))
  if (!phase) throw refused('after', 'is not a cursor of this export')
  return { phase, after: cursor.slice(cut + 1) || null }
}

/** A parent or a replacement that the caller does not see is left out, as in GraphQL. */
async function rowsOf({ scoped }: Sessions, found: readonly Target[], cursors: readonly string[]): Promise<Row[]> {
  const linked = found.flatMap(({ parentKey, replacedByKey }) => [parentKey ?? [], replacedByKey ?? []].flat())
  const others = linked.length === 0 ? new Map<number, Target>() : await targetsByKey(scoped, [...new Set(linked)])
  return found.map((device, index) => ({
    deviceId: device.name,
    displayName: device.displayName,
    labels: device.labels,
    registered: device.registered,
    connectivity: device.connectivity,
    maintenanceSince: device.maintenanceSince,
    maintenanceUntil: device.maintenanceUntil,
    maintenanceReason: device.maintenanceReason,
    expectedInterval: device.expectedInterval,
    parent: others.get(device.parentKey ?? 0)?.name ?? null,
    createdRevision: device.createdRevision,
    retiredAt: device.retiredAt,
    retiredReason: device.retiredReason,
    replacedBy: others.get(device.replacedByKey ?? 0)?.name ?? null,
    cursor: cursors[index],
  }))
}
