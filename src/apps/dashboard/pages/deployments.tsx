/** All deployments, with filters and search. Thousands of rows scroll smoothly. */
import type { VNode } from 'preact'
import { describeGroup, readGroup } from '../data/causes.ts'
import type { DeploymentFilter, DeploymentOrder } from '../data/deployment-rows.ts'
import {
  type Convergence,
  convergenceOrder,
  convergenceWords,
  type DeploymentState,
  deploymentStates,
  stateWords,
} from '../data/labels.ts'
import { at } from '../route.ts'
import { DeploymentTable, useDeploymentRows } from '../widgets/lists/deployment-table.tsx'
import { Choice, FilterChip, Filters, parseLabel, SearchField, Toggle, useFilters } from '../widgets/lists/filters.tsx'
import { FirstReport } from '../widgets/setup/first-report.tsx'

const orders: Readonly<Record<DeploymentOrder, string>> = {
  CHANGED_DESC: 'Last changed',
  CHANGED_ASC: 'Longest unchanged',
  STATE: 'State',
  STATE_DESC: 'State, removed first',
  NAME: 'Name',
  NAME_DESC: 'Name, Z to A',
}

export function DeploymentsPage() {
  return (
    <>
      <h1>Deployments</h1>
      <FilteredDeployments scope={{}} label="Deployments" empty={at.value === null ? <FirstReport /> : undefined} />
    </>
  )
}

interface FilteredProps {
  /** The filter that the page imposes on the list. */
  readonly scope: DeploymentFilter
  readonly label: string
  readonly empty?: VNode | undefined
}

export function FilteredDeployments({ scope, label, empty = <p class="empty">No deployments.</p> }: FilteredProps) {
  const { one, isSet, set } = useFilters()
  const { filter, orderBy } = useDeploymentFilter(scope)
  const source = useDeploymentRows({ filter, orderBy, asOf: at.value })
  const code = one('code')
  const isOneDevice = scope.deviceIds?.length === 1
  const isFiltered = Object.keys(filter).length > Object.keys(scope).length
  return (
    <>
      <Filters
        label="Filter deployments"
        names="text state convergence stalled waiting offline error broken retired code group label"
        fields={<SearchField label="ID, device, app, error" />}
      >
        <Choice name="state" label="State" options={stateOptions} />
        <Choice name="convergence" label="Convergence" options={convergenceWords} />
        <Toggle name="stalled">Stalled</Toggle>
        <Toggle name="offline">Offline</Toggle>
        <Toggle name="error">Has error</Toggle>
        <Toggle name="broken">Not working</Toggle>
        {!isOneDevice && <Toggle name="retired">On retired devices</Toggle>}
        {isSet('waiting') && <FilterChip name="waiting">Waiting</FilterChip>}
        {code !== null && <FilterChip name="code">{`Error ${code}`}</FilterChip>}
        {filter.group && <FilterChip name="group">{describeGroup(filter.group)}</FilterChip>}
        {filter.labels?.map(({ key, value }) => (
          <FilterChip key={key} name="label">{`${key}: ${value}`}</FilterChip>
        ))}
        <label class="order">
          <span>Order</span>
          <select value={orderBy} onChange={(event) => set({ order: event.currentTarget.value })}>
            {Object.entries(orders).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </label>
      </Filters>
      <DeploymentTable
        source={source}
        label={label}
        isOneDevice={isOneDevice}
        empty={isFiltered ? 'No deployments match these filters.' : empty}
      />
    </>
  )
}

const stateOptions = Object.fromEntries(deploymentStates.map((state) => [state, stateWords[state]])) as Readonly<
  Record<DeploymentState, string>
>

/** Neither failed nor stalled: it has not begun, or the device has not picked up the desired state. A diagnosis counts it so. */
const waiting: DeploymentFilter = {
  stalled: false,
  where: {
    and: [{ not: { states: ['FAILED'] } }, { or: [{ states: ['PENDING'] }, { convergence: ['STALE'] }] }],
  },
}

function useDeploymentFilter(scope: DeploymentFilter): {
  readonly filter: DeploymentFilter
  readonly orderBy: DeploymentOrder
} {
  const { text, one, many, isSet } = useFilters()
  const states = many('state', deploymentStates)
  const convergence: Convergence[] = many('convergence', convergenceOrder)
  const order = one('order')
  const code = one('code')
  const group = readGroup(one('group'))
  const label = parseLabel(one('label'))
  const search = text().trim()
  const filter: DeploymentFilter = {
    ...scope,
    ...(states.length > 0 ? { states } : {}),
    ...(convergence.length > 0 ? { convergence } : {}),
    ...(search ? { text: search } : {}),
    ...(isSet('stalled') ? { stalled: true } : {}),
    ...(isSet('waiting') ? waiting : {}),
    ...(isSet('offline') ? { connectivity: ['OFFLINE'] } : {}),
    ...(isSet('error') ? { hasError: true } : {}),
    ...(isSet('broken') ? { readiness: ['FAILED', 'PENDING'] } : {}),
    ...(group ? { group } : {}),
    ...(label ? { labels: [label] } : {}),
    ...(isSet('retired') ? { retired: true } : {}),
    ...(code === null ? {} : { errorCodes: [code] }),
  }
  return { filter, orderBy: order !== null && order in orders ? (order as DeploymentOrder) : 'CHANGED_DESC' }
}
