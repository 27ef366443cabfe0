import type { MaintenanceWindow as WindowRow } from '../../../../domain/maintenance.ts'
import type { Millis } from '../../../../domain/values.ts'
import { endMaintenance, planMaintenance } from '../../../../ingest/commands/maintenance.ts'
import { isTimeZone, longestOccurrence, occursAt, recurrenceProblem } from '../../../../platform/timing/recurrence.ts'
import { DeviceFilterRef, toDeviceFilter } from '../../objects/selectors/filters.ts'
import { ClusterFilterRef, toClusterFilter } from '../../objects/targets/cluster-list.ts'
import { MaintenanceWindow } from '../../objects/targets/maintenance.ts'
import { windowKeyOf } from '../../objects/targets/maintenance-id.ts'
import type { InputCheck } from '../input-check.ts'
import { addMutation, type SuccessFields } from '../mutation.ts'

const day: Millis = 86_400_000
/** Characters of JSON. All windows that last are read each round. */
const longestSelector = 16_384
const [longestDays, farthestDays] = [92, 366]

/** Fields of a filter, and of its `where`, whose values change by themselves: devices would enter and leave with each report. */
const changing: readonly string[] = [
  ...['connectivity', 'lastHeardBefore', 'lastHeardAfter', 'deviations', 'rolloutIds', 'failing', 'retired'],
  'inMaintenance',
]

const fields: SuccessFields<{ readonly window: WindowRow }> = (t) => ({
  window: t.expose('window', { type: MaintenanceWindow, description: 'The maintenance window.' }),
})

addMutation('planMaintenance', {
  access: 'operator of all',
  description:
    'Plans downtime of devices and clusters, once or repeatedly. Those that the filters select enter the window when it begins, and those that they come to select while it lasts within a minute.',
  input: {
    description: 'The maintenance window.',
    fields: (t) => ({
      filter: t.field({
        type: DeviceFilterRef,
        description: `Selects the devices: at least one condition, and none on ${changing.map((name) => `\`${name}\``).join(', ')}. Absent: none.`,
      }),
      clusters: t.field({
        type: ClusterFilterRef,
        description:
          'Selects the clusters: at least one condition, and none on `connectivity`, `inMaintenance`. Absent: none. There must be this, `filter` or both.',
      }),
      from: t.field({ type: 'DateTime', description: 'When it begins. Absent: now.' }),
      to: t.field({
        type: 'DateTime',
        required: true,
        description: `When it ends: at most ${longestDays} days later.`,
      }),
      reason: t.string({
        required: true,
        description: 'The reason: 1 to 256 characters. It is shown with the devices.',
      }),
      repeat: t.string({
        description:
          'How it is repeated: an RRULE of RFC 5545 with FREQ=WEEKLY or FREQ=DAILY, and INTERVAL, BYDAY (for WEEKLY), WKST and UNTIL, such as `FREQ=WEEKLY;BYDAY=SA`. `from` must be one of its times. Absent: it occurs once.',
      }),
      timeZone: t.string({
        defaultValue: 'UTC',
        description: 'The time zone in which it is repeated, such as `Europe/Berlin`.',
      }),
    }),
  },
  errors: ['Conflict'],
  async check({ filter, clusters, from, to, reason, repeat, timeZone }, check, { clock }) {
    const now = clock()
    check.name(['reason'], reason)
    if (!filter && !clusters) check.add(['filter'], 'must be given, or clusters')
    for (const [name, selector] of Object.entries({ filter, clusters })) {
      if (selector && Object.keys(givenOf(selector)).length === 0) check.add([name], 'must have a condition')
      if (selector && JSON.stringify(selector).length > longestSelector)
        check.add([name], `must have at most ${longestSelector} characters: select by a label`)
      for (const path of changingFields(selector, [name])) check.add(path, 'cannot select what is in a window')
    }
    const begins = from ?? now
    if (to <= begins) check.add(['to'], 'must be after from')
    if (to <= now) check.add(['to'], 'must not be over')
    if (to - begins > longestDays * day) check.add(['to'], `must be at most ${longestDays} days after from`)
    if (Math.abs(begins - now) > farthestDays * day) check.add(['from'], `must be at most ${farthestDays} days away`)
    if (!isTimeZone(timeZone ?? 'UTC')) check.add(['timeZone'], 'must be a time zone such as Europe/Berlin')
    if (typeof repeat === 'string' && check.problems.length === 0)
      await checkRepeat({ repeat, timeZone: timeZone ?? 'UTC' }, begins, to, check)
  },
  async act({ filter, clusters, from, to, reason, repeat, timeZone }, context) {
    const selector = {
      ...(filter && { given: givenOf(filter), filter: toDeviceFilter(filter) }),
      ...(clusters && { givenClusters: givenOf(clusters), clusters: toClusterFilter(clusters) }),
    }
    const plan = {
      ...{ reason, beginsAt: from ?? context.clock(), endsAt: to, repeat: repeat ?? null, timeZone: timeZone ?? 'UTC' },
      selector: JSON.parse(JSON.stringify(selector)),
    }
    return { window: await context.write(planMaintenance(plan, context.principal.name)) }
  },
  success: { description: 'The window is planned.', access: 'viewer of all', fields },
})

addMutation('endMaintenance', {
  access: 'operator of all',
  description: 'Ends a maintenance window, with its further occurrences. Its devices leave it within seconds.',
  input: {
    description: 'The maintenance window.',
    fields: (t) => ({ maintenanceId: t.id({ required: true, description: 'The ID of the window.' }) }),
  },
  errors: ['NotFound', 'Conflict'],
  act: async ({ maintenanceId }, context) => ({
    window: await context.write(endMaintenance(windowKeyOf(maintenanceId), context.principal.name)),
  }),
  success: { description: 'The window is ended.', access: 'viewer of all', fields },
})

async function checkRepeat(
  recurrence: { readonly repeat: string; readonly timeZone: string },
  begins: Millis,
  to: Millis,
  check: InputCheck,
): Promise<void> {
  const problem = recurrenceProblem(recurrence.repeat)
  if (problem !== null) return check.add(['repeat'], problem)
  const longest = longestOccurrence(recurrence.repeat)
  if (to - begins > longest)
    check.add(
      ['to'],
      `must be at most ${longest / 3_600_000} hours after from, so that no occurrence overlaps the next`,
    )
  if (!(await occursAt(recurrence, begins))) check.add(['repeat'], 'must occur at from')
}

const givenOf = (filter: object): object =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => (value ?? null) !== null))

function changingFields(part: unknown, path: readonly string[]): (readonly string[])[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) => {
    const own = [...path, name]
    return changing.includes(name) && value !== null && value !== undefined ? [own] : changingFields(value, own)
  })
}
