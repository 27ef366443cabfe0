/**
 * Takes devices out of service permanently. In this order, a revision each:
 *
 *   DEVICE_RETIRED         the device, then each device behind it; before it MAINTENANCE_ENDED, if the device was in a window
 *   CONVERGENCE_CHANGED    documents leave the manifests that list them, also the manifest of a gateway that stays in service
 *   DEPLOYMENT_FORGOTTEN   every deployment that runs on one of them, or that only they report
 *
 * Only the devices and deployments of one part (divided-write.ts) are in memory: a device may have thousands, each with 320 KiB of errors.
 *
 * A deployment is closed by forgetting it: lists, counters, history and a return with a new report then work as for any forgotten
 * deployment. A separate state RETIRED was rejected: every reader of deployments would have to exclude it.
 *
 * No device below a retired device is in service. Devices behind it retire with it, or the command is refused: otherwise a gateway's
 * children would become silent without a reason. report.ts, declare.ts and register.ts refuse to place a device below it.
 *
 * Credentials stay stored, so that the device gets 410 instead of 401. They give no access.
 */
import { DomainError } from '../../../domain/errors.ts'
import type { Target } from '../../../domain/target.ts'
import type { Millis, Revision } from '../../../domain/values.ts'
import { eachPaced, type Paced } from '../../../platform/limits/pace.ts'
import type { BranchDevice } from '../../../store/write/contract.ts'
import { type EndedPeriod, endPeriods } from '../../../store/write/maintenance.ts'
import type { Command } from '../../command.ts'
import { eachPart, inParts } from '../../command-parts.ts'
import { type ItemList, indexesOf, itemsAt } from '../../item-list.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'
import type { ManifestUpdate } from '../declared-documents.ts'
import { leave } from '../maintenance.ts'
import { forget, withdraw } from '../remove.ts'

interface Retirement {
  readonly deviceId: string
  /** The device that replaces it. Null: none, or not known yet. */
  readonly replacedBy: string | null
}

/** The reason, and whether devices behind the retired ones retire too. `manifestUpdate`: for the manifests that lose documents. */
interface RetireOptions {
  readonly reason: string
  readonly withChildren: boolean
  /** A device that was heard at this time or later is refused. Absent: none. */
  readonly silentSince?: Millis | undefined
  readonly manifestUpdate: ManifestUpdate
}

interface Retired {
  readonly revision: Revision
  readonly results: readonly {
    readonly key: number
    /** False: it was already retired, for the same reason and with the same replacement. */
    readonly isChanged: boolean
    /** Devices behind it that retired with it. */
    readonly children: number
    /** Deployments that were closed, including those of the devices behind it. */
    readonly deployments: number
  }[]
}

/** The limit of names in a refusal. */
const mostNamed = 10

export function retireDevices(retirements: ItemList<Retirement>, options: RetireOptions): Command<Retired> {
  const indexes = indexesOf(retirements)
  const nameAt = (index: number): string => retirements.at(index)?.deviceId ?? ''
  const whole: WholeCommand = {
    named: new Set(indexes.map(nameAt)),
    successors: new Map(
      indexes.flatMap((index) => {
        const { replacedBy = null } = retirements.at(index) ?? {}
        return replacedBy === null ? [] : itemsAt(retirements, [index]).map((listed) => [replacedBy, listed] as const)
      }),
    ),
  }
  return inParts(async (write) => {
    /** Each device once: a named device may be behind another named one. */
    const taken = new Set<number>()
    const found = await eachPart(indexes, (part) => write(findPart(itemsAt(retirements, part), options, whole, taken)))
    const branches = found.flat()
    const endings = branches.flatMap(({ name, replacedByKey, below }) => [
      { name, replacedByKey },
      ...below.map((child) => ({ name: child.name, replacedByKey: null })),
    ])
    const parts = await eachPart(endings, (part) => write(endPart(part, options.reason)))
    const changed = new Set(parts.flatMap((part) => part.changed))
    /** The deployments to close. */
    const keys = new Set<number>()
    const results = branches.map(({ key, name, below, places }) => {
      const before = keys.size
      for (const place of places) keys.add(place)
      return { key, isChanged: changed.has(name), children: below.length, deployments: keys.size - before }
    })
    const closed = [...keys].sort((a, b) => a - b)
    await withdraw(write, closed, options.manifestUpdate)
    const closing = await eachPart(closed, (part) => write(forgetPart(part)))
    return { revision: closing.at(-1) ?? parts.at(-1)?.revision ?? 0, results }
  })
}

/** With the index in the command. */
type Listed = Retirement & { readonly index: number }

/** All devices of a command, of which a part is retired. */
interface WholeCommand {
  readonly named: ReadonlySet<string>
  /** By the name of the replacement. */
  readonly successors: ReadonlyMap<string, Listed>
}

/** A device to retire. */
interface Found {
  readonly key: number
  readonly name: string
  readonly replacedByKey: number | null
  readonly below: readonly BranchDevice[]
  /** The keys of the deployments on its branch. */
  readonly places: readonly number[]
}

function findPart(
  retirements: readonly Listed[],
  options: RetireOptions,
  whole: WholeCommand,
  taken: Set<number>,
): Command<readonly Found[]> {
  return {
    needs: {
      devices: retirements.flatMap(({ deviceId, replacedBy }) => [
        deviceId,
        ...(replacedBy === null ? [] : [replacedBy]),
      ]),
      branches: retirements.map(({ deviceId }) => deviceId),
    },
    *decide(work) {
      const branches = yield* findBranches(work, retirements, whole.named, taken)
      refuseHeard(branches, options.silentSince ?? null)
      if (!options.withChildren) refuseChildren(branches)
      const replacements = findReplacements(work, branches, whole)
      const { places } = work.branches()
      const onTarget = Map.groupBy(places, ({ targetKey }) => targetKey)
      const ofReporter = Map.groupBy(places, ({ reporter }) => reporter)
      return yield* eachPaced(branches, ({ device, below }, index) => ({
        key: device.key,
        name: device.name,
        replacedByKey: replacements[index]?.key ?? null,
        below,
        places: [device, ...below].flatMap(({ key, name }) =>
          [...(onTarget.get(key) ?? []), ...(ofReporter.get(name) ?? [])].map((place) => place.key),
        ),
      }))
    },
  }
}

type Ending = Pick<Found, 'name' | 'replacedByKey'>

interface EndedPart {
  readonly changed: readonly string[]
  /** Of maintenance. */
  readonly periods: readonly EndedPeriod[]
  readonly revision: Revision
}

function endPart(endings: readonly Ending[], reason: string): Command<EndedPart> {
  return {
    needs: { devices: endings.map(({ name }) => name) },
    *decide(work) {
      const changed: string[] = []
      const periods: EndedPeriod[] = []
      yield* eachPaced(endings, ({ name, replacedByKey }) => {
        const device = work.device(name)
        if (!device) return
        if (device.maintenanceKey !== null) periods.push(leave(work, device))
        if (end(work, work.targetByKey(device.key), reason, replacedByKey)) changed.push(name)
      })
      return { changed, periods, revision: work.revision() }
    },
    statements: ({ periods }) => (periods.length > 0 ? [endPeriods(periods)] : []),
  }
}

function forgetPart(keys: readonly number[]): Command<Revision> {
  return {
    needs: { deploymentKeys: keys },
    *decide(work) {
      yield* eachPaced(keys, (key) => forget(work, key))
      return work.revision()
    },
  }
}

interface Branch {
  readonly retirement: Listed
  readonly device: Target
  /** The devices behind it that are in service and are not retired by name. */
  readonly below: readonly BranchDevice[]
}

function* findBranches(
  work: UnitOfWork,
  retirements: readonly Listed[],
  named: ReadonlySet<string>,
  taken: Set<number>,
): Paced<readonly Branch[]> {
  const children = Map.groupBy(work.branches().devices, ({ parentKey }) => parentKey)
  return yield* eachPaced(retirements, (retirement) => {
    const device = work.device(retirement.deviceId)
    if (!device) throw refusal('NOT_FOUND', `there is no device ${retirement.deviceId}`, retirement.index, 'deviceId')
    const below: BranchDevice[] = []
    for (const queue: { readonly key: number }[] = [device]; queue.length > 0; ) {
      for (const child of children.get(queue.pop()?.key ?? 0) ?? []) {
        if (taken.has(child.key)) continue
        taken.add(child.key)
        queue.push(child)
        if (!child.isRetired && !named.has(child.name)) below.push(child)
      }
    }
    return { retirement, device, below: below.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
  })
}

/** They were selected for their silence, which may have ended since. */
function refuseHeard(branches: readonly Branch[], silentSince: Millis | null): void {
  for (const { retirement, device } of branches) {
    if (silentSince === null || device.lastHeardAt === null || device.lastHeardAt < silentSince) continue
    throw refusal('CONFLICT', `${device.name} was heard meanwhile: select again`, retirement.index, 'deviceId')
  }
}

function refuseChildren(branches: readonly Branch[]): void {
  branches.forEach(({ retirement: { index }, device, below }) => {
    if (below.length === 0) return
    const names = below.map(({ name }) => name)
    const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
    const message = `${names.slice(0, mostNamed).join(', ')}${more} would stay in service behind ${device.name}: retire them too (withChildren), or register them with another parent`
    throw refusal('CONFLICT', message, index, 'deviceId')
  })
}

/** The replacement for the device of each branch. No replacement retires in the same command, in a part before or after. */
function findReplacements(
  work: UnitOfWork,
  branches: readonly Branch[],
  { named, successors }: WholeCommand,
): readonly (Target | null)[] {
  const ended = ({ replacedBy, index }: Listed) =>
    refusal('CONFLICT', `${replacedBy} is retired, or is to be: name a device in service`, index, 'replacedBy')
  for (const { below } of branches)
    for (const { name } of below) {
      const successor = successors.get(name)
      if (successor) throw ended(successor)
    }
  return branches.map(({ retirement, device }) => {
    const { replacedBy, index } = retirement
    if (replacedBy === null) return null
    const replacement = work.device(replacedBy)
    if (!replacement)
      throw refusal('NOT_FOUND', `there is no device ${replacedBy}: register it before`, index, 'replacedBy')
    // In a repeated command, the replacement may have been retired since.
    if (device.replacedByKey === replacement.key) return replacement
    if (replacement.retiredAt !== null || named.has(replacedBy)) throw ended(retirement)
    return replacement
  })
}

/** A repeated command with another reason or replacement corrects them. The time of retirement stays. */
function end(work: UnitOfWork, device: Target, retiredReason: string, replacedByKey: number | null): boolean {
  const isSaid = device.retiredReason === retiredReason && device.replacedByKey === replacedByKey
  if (device.retiredAt !== null && isSaid) return false
  const retired = { ...device, retiredAt: device.retiredAt ?? work.moment().at, retiredReason, replacedByKey }
  work.recordTarget(retired, { kind: 'DEVICE_RETIRED', reason: retiredReason, replacedByKey }, null)
  return true
}

function refusal(code: 'NOT_FOUND' | 'CONFLICT', message: string, index: number, field: string): DomainError {
  return new DomainError(code, message, { problems: [{ field: `devices[${index}].${field}`, message }] })
}
