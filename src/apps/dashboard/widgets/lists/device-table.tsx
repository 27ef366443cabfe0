/** Devices as table rows: labels, connectivity, deployments, and when they were last heard. */
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { type Counts, expectedOf, formatNumber, formatOutside } from '../../data/labels.ts'
import { formatAge, formatFull, formatTime, now } from '../../data/time.ts'
import { at, href } from '../../route.ts'
import { Name } from '../name.tsx'
import { CountsBar } from '../states/counts-bar.tsx'
import { countsFragment } from '../states/standing.tsx'
import { ConnectivityMark } from '../states/state-mark.tsx'
import { writeLabel } from './filters.tsx'
import { SelectBox, type Selection } from './selection.tsx'
import { Cell } from './virtual-list.tsx'

export const deviceFragment = graphql(
  `
    fragment DeviceRow on Device {
      id deviceId name connectivity lastHeardAt registered revokedAt retirement { at } maintenance { until } labels { key value } parent { deviceId name lastHeardAt }
      deploymentCounts { ...Counts }
    }
  `,
  [countsFragment],
)

export type DeviceRow = FragmentOf<typeof deviceFragment>

interface DeviceTableProps {
  readonly devices: readonly DeviceRow[]
  readonly label: string
  readonly selection?: Selection | null
  /** All devices are behind the gateway of the page, so it is not named. */
  readonly isOneGateway?: boolean
}

export function DeviceTable({ devices, label, selection = null, isOneGateway = false }: DeviceTableProps) {
  if (devices.length === 0) return null
  return (
    <div class="table devices" role="table" aria-label={label}>
      <div role="rowgroup">
        <div class="head" role="row">
          {['Device', 'Labels', 'Connectivity', 'Deployments', 'Last heard'].map((title) => (
            <span key={title} role="columnheader">
              {title}
            </span>
          ))}
        </div>
        {devices.map((device) => (
          <div key={device.id} class="row" role="row">
            <DeviceCells device={device} selection={selection} isOneGateway={isOneGateway} />
          </div>
        ))}
      </div>
    </div>
  )
}

interface LastHeardProps {
  readonly device: {
    readonly lastHeardAt: string | null
    readonly parent: { readonly name: string; readonly lastHeardAt: string | null } | null
  }
  readonly isOneGateway?: boolean
}

/** Devices behind a gateway are heard through it. Contacts make no revisions, so the past does not have them. */
export function LastHeard({ device: { lastHeardAt, parent }, isOneGateway = false }: LastHeardProps) {
  if (at.value !== null) return <span class="muted">not recorded</span>
  const time = lastHeardAt ?? parent?.lastHeardAt ?? null
  if (time === null) return <span class="muted">never</span>
  return (
    <time dateTime={time} title={formatFull(time)}>
      {lastHeardAt === null && parent && !isOneGateway && <span class="via">{`via ${parent.name}, `}</span>}
      {formatAge(time, now.value)}
    </time>
  )
}

/** The bar shows those that are removed if there are no others: `0 (3 removed)`. */
function describeCounts(counts: Counts): string {
  const [expected, outside] = [expectedOf(counts), formatOutside(counts)]
  return expected === 0 && outside !== null ? `0 (${outside})` : formatNumber(expected)
}

/** Labels. */
const most = 3

interface CellsProps {
  readonly device: DeviceRow
  readonly selection: Selection | null
  readonly isOneGateway: boolean
}

function DeviceCells({ device, selection, isOneGateway }: CellsProps) {
  return (
    <>
      <Cell class="main">
        <SelectBox of={selection} id={device.deviceId} name={device.name} />
        <a href={href(['device', device.deviceId])}>
          <Name>{device.name}</Name>
        </a>
        <small class="muted">
          {[
            device.name === device.deviceId ? null : device.deviceId,
            device.parent && !isOneGateway && `via ${device.parent.name}`,
            device.retirement ? 'retired' : device.revokedAt && 'revoked',
            device.maintenance && `in maintenance until ${formatTime(device.maintenance.until)}`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </small>
      </Cell>
      <Cell class="labels">
        {device.labels.slice(0, most).map(({ key, value }) => (
          <a
            key={key}
            class="label"
            title={`${key}: ${value}`}
            href={href(['devices'], { label: writeLabel({ key, value }) })}
          >
            {key}: {value}
          </a>
        ))}
        {device.labels.length > most && <small class="muted">+{device.labels.length - most}</small>}
      </Cell>
      <Cell class="state">
        <ConnectivityMark of={device.connectivity} />
      </Cell>
      <Cell class="so-far">
        <CountsBar counts={device.deploymentCounts} label={`Deployments of ${device.name}`} />
        <span class="number">{describeCounts(device.deploymentCounts)}</span>
      </Cell>
      <Cell class="when number">
        <LastHeard device={device} isOneGateway={isOneGateway} />
      </Cell>
    </>
  )
}
