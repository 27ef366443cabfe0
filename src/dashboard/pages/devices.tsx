/** Devices: their connectivity, when they were last heard, and their deployments. */

import { retireDevices } from '../data/actions.ts'
import { ask } from '../data/api.ts'
import { type Columns, readPages } from '../data/export.ts'
import { type FragmentOf, graphql } from '../data/graphql.ts'
import { type Connectivity, connectivityWords, expectedOf, formatNumber, plural } from '../data/labels.ts'
import { formatAge, formatFull, now } from '../data/time.ts'
import { useLiveAnswer } from '../data/use-query.ts'
import { href } from '../route.ts'
import { CountsBar } from '../widgets/counts-bar.tsx'
import { ErrorMessage } from '../widgets/error-message.tsx'
import { Choice, FilterChip, Pager, parseLabel, SearchField, Toggle, useFilters } from '../widgets/filters.tsx'
import { ExportButtons } from '../widgets/lists/export-buttons.tsx'
import { type Action, SelectBox, type Selection, SelectionBar, useSelection } from '../widgets/lists/selection.tsx'
import { Name } from '../widgets/name.tsx'
import { countsFragment } from '../widgets/standing.tsx'
import { ConnectivityMark } from '../widgets/state-mark.tsx'
import { Cell } from '../widgets/virtual-list.tsx'

export const deviceFragment = graphql(
  `
    fragment DeviceRow on Device {
      id deviceId name connectivity lastHeardAt registered revokedAt retirement { at } labels { key value } parent { deviceId name lastHeardAt }
      deploymentCounts { ...Counts }
    }
  `,
  [countsFragment],
)

const devicesDocument = graphql(
  `
    query Devices($filter: DeviceFilter, $after: String) {
      revision
      devices(filter: $filter, first: 50, after: $after) { totalCount nodes { ...DeviceRow } pageInfo { hasNextPage endCursor } }
    }
  `,
  [deviceFragment],
)

type DeviceRow = FragmentOf<typeof deviceFragment>

export function DevicesPage() {
  const { text, many, one, isSet } = useFilters()
  const connectivity = many('connectivity', Object.keys(connectivityWords) as Connectivity[])
  const search = text().trim()
  const label = parseLabel(one('label'))
  const filter = {
    ...(connectivity.length > 0 ? { connectivity } : {}),
    ...(search ? { text: search } : {}),
    ...(label ? { labels: [label] } : {}),
    ...(isSet('retired') ? { retired: true } : {}),
  }
  const after = one('after')
  const selection = useSelection(true)
  const { data, error } = useLiveAnswer(devicesDocument, { filter, after }, {})
  return (
    <>
      <h1>Devices</h1>
      <div class="filters" role="search" aria-label="Filter devices">
        <SearchField label="ID or name" />
        <Choice name="connectivity" label="Connectivity" options={connectivityWords} />
        <Toggle name="retired">Retired</Toggle>
        {label && <FilterChip name="label">{`${label.key}: ${label.value}`}</FilterChip>}
      </div>
      {error && <ErrorMessage error={error} />}
      <p class="muted number" role="status">
        {data ? plural(data.devices.totalCount, 'device') : 'Loading…'}
      </p>
      <ExportButtons
        name="devices"
        pages={() => readPages(async (next) => (await ask(devicesDocument, { filter, after: next })).devices)}
        columns={columns}
      />
      <SelectionBar of={selection} count={(count) => plural(count, 'device')} actions={actions} />
      <DeviceTable devices={data?.devices.nodes ?? []} label="Devices" selection={selection} />
      {data && data.devices.nodes.length === 0 && <p class="empty">No devices match these filters.</p>}
      <Pager page={data?.devices.pageInfo} />
    </>
  )
}

const actions: readonly Action[] = [
  {
    word: 'Retire',
    effect:
      'The server rejects their reports, and their deployments are closed. Registering a device again puts it back in service.',
    reason: 'required',
    run: retireDevices,
  },
]

const columns: Columns<DeviceRow> = {
  deviceId: (row) => row.deviceId,
  name: (row) => row.name,
  gateway: (row) => row.parent?.deviceId,
  labels: (row) => row.labels.map(({ key, value }) => `${key}=${value}`).join(' '),
  connectivity: (row) => row.connectivity,
  lastHeardAt: (row) => row.lastHeardAt,
  registered: (row) => row.registered,
  revokedAt: (row) => row.revokedAt,
  retiredAt: (row) => row.retirement?.at,
  deployments: (row) => expectedOf(row.deploymentCounts),
  failed: (row) => row.deploymentCounts.failed,
}

interface DeviceTableProps {
  readonly devices: readonly DeviceRow[]
  readonly label: string
  readonly selection?: Selection | null
}

export function DeviceTable({ devices, label, selection = null }: DeviceTableProps) {
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
            <DeviceCells device={device} selection={selection} />
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
}

/** Devices behind a gateway are heard through it. */
export function LastHeard({ device: { lastHeardAt, parent } }: LastHeardProps) {
  const time = lastHeardAt ?? parent?.lastHeardAt ?? null
  if (time === null) return <span class="muted">never</span>
  return (
    <time dateTime={time} title={formatFull(time)}>
      {lastHeardAt === null && parent && `via ${parent.name}, `}
      {formatAge(time, now.value)}
    </time>
  )
}

interface CellsProps {
  readonly device: DeviceRow
  readonly selection: Selection | null
}

function DeviceCells({ device, selection }: CellsProps) {
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
            device.parent && `via ${device.parent.name}`,
            device.retirement ? 'retired' : device.revokedAt && 'revoked',
          ]
            .filter(Boolean)
            .join(' · ')}
        </small>
      </Cell>
      <Cell class="labels">
        {device.labels.slice(0, 3).map(({ key, value }) => (
          <a key={key} class="label" href={href(['devices'], { label: `${key}=${value}` })}>
            {key}: {value}
          </a>
        ))}
      </Cell>
      <Cell class="state">
        <ConnectivityMark of={device.connectivity} />
      </Cell>
      <Cell class="so-far">
        <CountsBar counts={device.deploymentCounts} label={`Deployments of ${device.name}`} />
        <span class="number">{formatNumber(expectedOf(device.deploymentCounts))}</span>
      </Cell>
      <Cell class="when number">
        <LastHeard device={device} />
      </Cell>
    </>
  )
}
