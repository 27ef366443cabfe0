/** All deployments, filtered and searched; thousands scroll smoothly. */
import type { DeploymentFilter, DeploymentOrder } from '../deployment-rows.ts'
import { DeploymentTable, useDeploymentRows } from '../deployment-table.tsx'
import { Choice, Narrowed, SearchField, Toggle, useFilters } from '../filters.tsx'
import { at } from '../route.ts'
import {
  type Convergence,
  convergenceOrder,
  convergenceWords,
  type DeploymentState,
  deploymentStates,
  stateWords,
} from '../words.ts'

const orders: Readonly<Record<DeploymentOrder, string>> = {
  CHANGED_DESC: 'Changed last',
  CHANGED_ASC: 'Unchanged for longest',
  STATE: 'State',
  NAME: 'Name',
}

export function DeploymentsPage() {
  return (
    <>
      <h1>Deployments</h1>
      <FilteredDeployments scope={{}} label="Deployments" />
    </>
  )
}

interface FilteredProps {
  /** What they are all part of. */
  readonly scope: DeploymentFilter
  readonly label: string
}

export function FilteredDeployments({ scope, label }: FilteredProps) {
  const { one, set } = useFilters()
  const { filter, orderBy } = useDeploymentFilter(scope)
  const source = useDeploymentRows({ filter, orderBy, asOf: at.value })
  const code = one('code')
  return (
    <>
      <div
        class="filters"
        role="search"
        data-filters="text state convergence stalled offline error code"
        aria-label="Filter deployments"
      >
        <SearchField label="Id, device, app, error" />
        <Choice name="state" label="State" options={stateOptions} />
        <Choice name="convergence" label="Against what is meant" options={convergenceWords} />
        <Toggle name="stalled">Stalled</Toggle>
        <Toggle name="offline">Offline</Toggle>
        <Toggle name="error">With an error</Toggle>
        {code !== null && <Narrowed name="code">{`Error ${code}`}</Narrowed>}
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
      </div>
      <DeploymentTable source={source} label={label} empty="No deployment is like that." />
    </>
  )
}

const stateOptions = Object.fromEntries(deploymentStates.map((state) => [state, stateWords[state]])) as Readonly<
  Record<DeploymentState, string>
>

function useDeploymentFilter(scope: DeploymentFilter): {
  readonly filter: DeploymentFilter
  readonly orderBy: DeploymentOrder
} {
  const { text, one, many, isSet } = useFilters()
  const states = many('state', deploymentStates)
  const convergence: Convergence[] = many('convergence', convergenceOrder)
  const order = one('order')
  const code = one('code')
  const search = text().trim()
  const filter: DeploymentFilter = {
    ...scope,
    ...(states.length > 0 ? { states } : {}),
    ...(convergence.length > 0 ? { convergence } : {}),
    ...(search ? { text: search } : {}),
    ...(isSet('stalled') ? { stalled: true } : {}),
    ...(isSet('offline') ? { connectivity: ['OFFLINE'] } : {}),
    ...(isSet('error') ? { hasError: true } : {}),
    ...(code === null ? {} : { errorCodes: [code] }),
  }
  return { filter, orderBy: order !== null && order in orders ? (order as DeploymentOrder) : 'CHANGED_DESC' }
}
