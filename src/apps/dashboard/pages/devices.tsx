/** Devices: their connectivity, when they were last heard, and their deployments. */
import { retireDevices } from '../data/actions.ts'
import { ask } from '../data/api.ts'
import { type Columns, readPages } from '../data/export.ts'
import { graphql, type VariablesOf } from '../data/graphql.ts'
import { type Connectivity, connectivityWords, expectedOf, plural } from '../data/labels.ts'
import { describeLoading } from '../data/loading.ts'
import { now } from '../data/time.ts'
import { useLiveAnswer } from '../data/use-query.ts'
import { at } from '../route.ts'
import { ErrorMessage } from '../widgets/error-message.tsx'
import { type DeviceRow, DeviceTable, deviceFragment } from '../widgets/lists/device-table.tsx'
import { ExportButtons } from '../widgets/lists/export-buttons.tsx'
import {
  Choice,
  describeNoLabel,
  Filters,
  Pager,
  parseLabel,
  SearchField,
  Toggle,
  useFilters,
} from '../widgets/lists/filters.tsx'
import { type Action, SelectionBar, useSelection } from '../widgets/lists/selection.tsx'
import { ReinstateAll, reinstating } from '../widgets/reinstate.tsx'
import { FirstReport } from '../widgets/setup/first-report.tsx'

const devicesDocument = graphql(
  `
    query Devices($filter: DeviceFilter, $orderBy: TargetOrder, $after: String, $asOf: DateTime) {
      revision
      devices(filter: $filter, orderBy: $orderBy, first: 50, after: $after, asOf: $asOf) { totalCount nodes { ...DeviceRow } pageInfo { hasNextPage endCursor } }
    }
  `,
  [deviceFragment],
)

type Order = NonNullable<VariablesOf<typeof devicesDocument>['orderBy']>

const orders: Readonly<Record<string, readonly [string, Order]>> = {
  name: ['Name', { field: 'NAME' }],
  silent: ['Longest silent', { field: 'LAST_HEARD', direction: 'ASC' }],
  heard: ['Last heard', { field: 'LAST_HEARD', direction: 'DESC' }],
  connectivity: ['Connectivity', { field: 'CONNECTIVITY', direction: 'DESC' }],
}

/** Contacts make no revisions, so the past does not have them. */
function ordersAt(isPresent: boolean): typeof orders {
  if (isPresent) return orders
  return Object.fromEntries(Object.entries(orders).filter(([, [, { field }]]) => field !== 'LAST_HEARD'))
}

/** By minutes of silence. */
const silences: Readonly<Record<string, string>> = {
  '5': 'Over 5 minutes ago',
  '60': 'Over an hour ago',
  '1440': 'Over a day ago',
  '10080': 'Over a week ago',
}

const minute = 60_000

export function DevicesPage() {
  const { text, many, one, isSet } = useFilters()
  const isRetired = isSet('retired')
  const asOf = at.value
  const silence = asOf === null ? one('silent') : null
  const connectivity = many('connectivity', Object.keys(connectivityWords) as Connectivity[])
  const search = text().trim()
  const label = parseLabel(one('label'))
  const filter = {
    ...(connectivity.length > 0 ? { connectivity } : {}),
    ...(search ? { text: search } : {}),
    ...(label ? { labels: [label] } : {}),
    ...(isRetired ? { retired: true } : {}),
    ...(isSet('failing') ? { failing: true } : {}),
    ...(isSet('maintenance') ? { inMaintenance: true } : {}),
    // To the minute, so that the query is not repeated each second.
    ...(silence && silence in silences
      ? { lastHeardBefore: new Date((Math.floor(now.value / minute) - Number(silence)) * minute).toISOString() }
      : {}),
  }
  const [, orderBy = null] = ordersAt(asOf === null)[one('order') ?? ''] ?? []
  const after = one('after')
  const variables = { filter, orderBy, after, asOf }
  const about = JSON.stringify([{ ...filter, lastHeardBefore: silence }, orderBy, after, asOf])
  const { data, isCurrent, error } = useLiveAnswer(devicesDocument, variables, asOf === null ? {} : null, {
    about,
    hasContacts: true,
  })
  const found = isCurrent ? data?.devices : undefined
  const selection = useSelection({
    isOn: asOf === null,
    about,
    listed: found?.nodes.map(({ deviceId }) => deviceId) ?? null,
  })
  return (
    <>
      <h1>Devices</h1>
      <Filters
        label="Filter devices"
        names="text label connectivity failing maintenance retired silent"
        fields={
          <>
            <SearchField label="ID or name" />
            <SearchField label="Label: site=munich" name="label" />
          </>
        }
      >
        <Choice name="connectivity" label="Connectivity" options={connectivityWords} />
        <Toggle name="failing">Failing</Toggle>
        <Toggle name="maintenance">In maintenance</Toggle>
        <Toggle name="retired">Retired</Toggle>
        <Orders isPresent={asOf === null} silence={silence} />
      </Filters>
      {error && <ErrorMessage error={error} />}
      {asOf !== null && <p class="note">Names, labels and registrations are those of now.</p>}
      <div class="table-bar">
        <p class="muted number" role="status">
          {found ? plural(found.totalCount, 'device') + describeNoLabel(one('label')) : !error && describeLoading()}
        </p>
        {isRetired && <ReinstateAll filter={filter} count={found?.totalCount ?? 0} />}
        <ExportButtons
          name="devices"
          pages={() => readPages(async (next) => (await ask(devicesDocument, { ...variables, after: next })).devices)}
          columns={columns}
        />
      </div>
      <SelectionBar
        of={selection}
        count={(count) => plural(count, 'device')}
        actions={isRetired ? retiredActions : actions}
      />
      <DeviceTable devices={data?.devices.nodes ?? []} label="Devices" selection={selection} />
      {found?.nodes.length === 0 && <NoDevices isFiltered={Object.keys(filter).length > 0} isPresent={asOf === null} />}
      <Pager page={found?.pageInfo} />
    </>
  )
}

function Orders({ isPresent, silence }: { readonly isPresent: boolean; readonly silence: string | null }) {
  const { one, set } = useFilters()
  const shown = ordersAt(isPresent)
  const order = one('order') ?? ''
  return (
    <div class="orders">
      {isPresent && (
        <label class="order">
          <span>Heard</span>
          <select value={silence ?? ''} onChange={(event) => set({ silent: event.currentTarget.value, after: null })}>
            <option value="">Any time</option>
            {Object.entries(silences).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="order">
        <span>Order</span>
        <select
          value={order in shown ? order : 'name'}
          onChange={(event) => set({ order: event.currentTarget.value, after: null })}
        >
          {Object.entries(shown).map(([value, [word]]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}

function NoDevices({ isFiltered, isPresent }: { readonly isFiltered: boolean; readonly isPresent: boolean }) {
  if (isFiltered) return <p class="empty">No devices match these filters.</p>
  return isPresent ? <FirstReport /> : <p class="empty">No devices at this time.</p>
}

const actions: readonly Action[] = [
  {
    word: 'Retire',
    effect: 'The server rejects their reports, and their deployments are closed. To undo it, reinstate them.',
    reason: 'required',
    run: retireDevices,
  },
]

const retiredActions: readonly Action[] = [reinstating]

const columns: Columns<DeviceRow> = {
  deviceId: (row) => row.deviceId,
  name: (row) => row.name,
  gateway: (row) => row.parent?.deviceId,
  labels: (row) => row.labels.map(({ key, value }) => `${key}=${value}`).join(' '),
  connectivity: (row) => row.connectivity,
  lastHeardAt: (row) => row.lastHeardAt,
  maintenanceUntil: (row) => row.maintenance?.until,
  registered: (row) => row.registered,
  revokedAt: (row) => row.revokedAt,
  retiredAt: (row) => row.retirement?.at,
  deployments: (row) => expectedOf(row.deploymentCounts),
  failed: (row) => row.deploymentCounts.failed,
}
