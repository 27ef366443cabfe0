/** Devices that are gone: silent for so long that a person decides whether they come back. */
import { useState } from 'preact/hooks'
import { countRetirement, retireSelected } from '../data/actions.ts'
import { graphql, type VariablesOf } from '../data/graphql.ts'
import { type DeploymentState, formatNumber, plural } from '../data/labels.ts'
import { formatSpan, formatTime, now } from '../data/time.ts'
import { useAnswer } from '../data/use-query.ts'
import { isOperator } from '../data/viewer.ts'
import { at, href } from '../route.ts'
import { describeFailure } from './error-message.tsx'
import { type Action, Confirmation } from './lists/selection.tsx'

/** Milliseconds of silence after which the page asks whether a device is gone, and between two counts of these. */
const [longSilence, refreshInterval] = [7 * 86_400_000, 30_000]

const leavingDocument = graphql(`
  query Leaving($id: ID!, $filter: DeviceFilter, $silent: DeploymentFilter, $unheard: DeploymentFilter, $asOf: DateTime, $isPresent: Boolean!) {
    rollout(id: $id, asOf: $asOf) {
      leftOut: deploymentGroups(by: RETIREMENT, filter: { retired: true }, first: 4) { totalCount nodes { key counts { total } } }
      waiting: deploymentCounts(filter: $silent) @include(if: $isPresent) { total }
      behind: deploymentGroups(by: GATEWAY, filter: $unheard, first: 100) @include(if: $isPresent) { nodes { key counts { total } } }
    }
    paused: devices(filter: { rolloutIds: [$id], inMaintenance: true }, asOf: $asOf, first: 1) { totalCount nodes { maintenance { until reason } } }
    devices(filter: $filter, first: 1) @include(if: $isPresent) { totalCount }
  }
`)

const gatewaysDocument = graphql(`
  query SilentGateways($filter: DeviceFilter) { devices(filter: $filter, first: 100) { nodes { deviceId } } }
`)

type DeviceFilter = NonNullable<VariablesOf<typeof leavingDocument>['filter']>

const undone =
  'Their reports are refused from then on. To undo it, reinstate them: deployments return when they are reported or declared.'

interface RetireProps {
  readonly filter: DeviceFilter
  /** `press-7` or `3 devices` */
  readonly what: string
}

/** Counts first what would change, and asks. */
function Retire({ filter, what }: RetireProps) {
  const [action, setAction] = useState<Action | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  if (!isOperator.value) return null
  const ask = async (): Promise<void> => {
    setProblem(null)
    try {
      const { devices, children, deployments } = await countRetirement(filter)
      const behind = children === 0 ? '' : ` and ${plural(children, 'device')} behind`
      setAction({
        word: 'Retire',
        effect: `Takes ${plural(devices, 'device')}${behind} out of service and closes ${plural(deployments, 'deployment')}. ${undone}`,
        reason: 'required',
        run: (_, reason) => retireSelected(filter, reason),
      })
    } catch (error) {
      setProblem(describeFailure(error))
    }
  }
  return (
    <>
      <button type="button" class="quiet" onClick={() => void ask()}>
        Retire {what}…
      </button>
      {problem !== null && (
        <span class="trouble-text" role="alert">
          {problem}
        </span>
      )}
      {action && <Confirmation action={action} ids={[]} what={what} close={() => setAction(null)} />}
    </>
  )
}

interface SilentProps {
  readonly device: {
    readonly deviceId: string
    readonly lastHeardAt: string | null
    /** A device that never sent anything itself is heard through it. */
    readonly parent: { readonly deviceId: string; readonly lastHeardAt: string | null } | null
  }
}

export function SilentDevice({ device }: SilentProps) {
  const { parent } = device
  const [subject, of] =
    device.lastHeardAt === null && parent ? (['Its gateway', parent] as const) : (['Its device', device] as const)
  const silence = of.lastHeardAt === null ? 0 : now.value - Date.parse(of.lastHeardAt)
  if (at.value !== null || silence < longSilence) return null
  return (
    <p class="note">
      {subject} has been silent for {formatSpan(silence)}. If it does not come back:{' '}
      <Retire
        filter={{ deviceIds: [of.deviceId], lastHeardBefore: of.lastHeardAt && after(of.lastHeardAt) }}
        what={of.deviceId}
      />
    </p>
  )
}

/** The device was not heard since. */
const after = (time: string): string => new Date(Date.parse(time) + 1_000).toISOString()

/** How many deployments of a rollout were left out, and why; and which devices keep it from its end. */
export function Leaving({ id }: { readonly id: string }) {
  const asOf = at.value
  const turn = Math.floor(now.value / refreshInterval)
  const before = new Date(turn * refreshInterval - longSilence).toISOString()
  // A device that was never heard may be a new one, or is heard through its gateway.
  const silent = { lastHeardAfter: never, lastHeardBefore: before }
  const filter = { rolloutIds: [id], ...silent }
  const { data } = useAnswer(
    leavingDocument,
    {
      ...{ id, asOf, filter, isPresent: asOf === null },
      silent: { ...silent, states: underWay },
      unheard: { lastHeardBefore: never, states: underWay },
    },
    { version: asOf ?? turn, about: `${id} ${asOf}` },
  )
  const { leftOut, waiting, behind } = data?.rollout ?? {}
  const left = leftOut?.nodes.reduce((sum, { counts }) => sum + counts.total, 0) ?? 0
  const paused = data?.paused.totalCount ?? 0
  const window = data?.paused.nodes[0]?.maintenance
  const devices = data?.devices?.totalCount ?? 0
  return (
    <>
      {paused > 0 && (
        <p class="note">
          {plural(paused, 'device')} in maintenance
          {paused === 1 && window && ` until ${formatTime(window.until)}: ${window.reason}`}. The time does not count as
          standing still.
        </p>
      )}
      {leftOut && left > 0 && (
        <p class="note">
          Not counted, because the device was retired: {leftOut.totalCount > leftOut.nodes.length && 'at least '}
          <a href={href(['rollout', id], { retired: 'true' })}>{plural(left, 'deployment')}</a> (
          {leftOut.nodes.map(({ key, counts }) => `${formatNumber(counts.total)}: ${key ?? 'its gateway'}`).join('; ')})
        </p>
      )}
      {waiting && waiting.total > 0 && devices > 0 && (
        <p class="note">
          {plural(waiting.total, 'deployment')} not done on devices that have been silent for over{' '}
          {formatSpan(longSilence)}. If they do not come back:{' '}
          <Retire filter={filter} what={plural(devices, 'device')} />
        </p>
      )}
      {behind && behind.nodes.length > 0 && <BehindGateways groups={behind.nodes} silent={silent} turn={turn} />}
    </>
  )
}

const underWay: DeploymentState[] = ['PENDING', 'INSTALLING', 'REMOVING']
const never = new Date(0).toISOString()

interface BehindProps {
  /** Deployments on devices that never sent anything themselves, by their gateway. */
  readonly groups: readonly { readonly key: string | null; readonly counts: { readonly total: number } }[]
  readonly silent: DeviceFilter
  readonly turn: number
}

function BehindGateways({ groups, silent, turn }: BehindProps) {
  const deviceIds = groups.flatMap(({ key }) => key ?? [])
  const { data } = useAnswer(
    gatewaysDocument,
    { filter: { ...silent, deviceIds } },
    { version: turn, about: deviceIds.join('\n') },
  )
  const gateways = data?.devices.nodes.map(({ deviceId }) => deviceId) ?? []
  const waiting = groups.reduce((sum, { key, counts }) => sum + (gateways.includes(key ?? '') ? counts.total : 0), 0)
  if (waiting === 0) return null
  return (
    <p class="note">
      {plural(waiting, 'deployment')} not done behind{' '}
      {gateways.length === 1 ? 'a gateway that has' : 'gateways that have'} been silent for over{' '}
      {formatSpan(longSilence)}. If they do not come back:{' '}
      <Retire filter={{ ...silent, deviceIds: gateways }} what={plural(gateways.length, 'gateway')} />
    </p>
  )
}
