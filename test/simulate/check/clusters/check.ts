/** Compares the server with an orchestrator's ledger: each group's status and instances, and the resources on each of its clusters. */

import type { Api } from '../../../../src/apps/cli/api.ts'
import type { SimulatedGroup } from '../../../../src/apps/simulate/clusters/plan.ts'
import type { InstanceStatus } from '../../../../src/domain/orchestration/instance.ts'
import { presences, syncStatuses } from '../../../../src/domain/orchestration/resource.ts'
import type { DeploymentState, Readiness } from '../../../../src/domain/values.ts'
import { type ExpectedInstance, type ExpectedResource, readinessOf, stateOn } from './expectation.ts'
import type { ClusterLedger, GroupAccount } from './ledger.ts'

export interface ClusterFindings {
  readonly differences: readonly string[]
  readonly groups: number
  readonly instances: number
  readonly resources: number
  /** Not compared, because a fact was not answered. */
  readonly uncertain: number
}

type Counts = Readonly<Record<'sync' | 'presence' | 'readiness', Readonly<Record<string, number>>>> & {
  readonly total: number
}

interface GroupData {
  readonly rollout: {
    readonly state: string | null
    readonly status: InstanceStatus | null
    readonly readiness: Readiness
    readonly resourceCounts: Counts
    readonly instances: readonly {
      readonly instanceId: string
      readonly revisionNumber: number
      readonly status: InstanceStatus
      readonly readiness: Readiness
    }[]
  } | null
}

interface PlacesData {
  readonly rollout: {
    readonly instance: {
      readonly deployments: {
        readonly nodes: readonly {
          readonly state: DeploymentState
          readonly readiness: Readiness
          readonly target: { readonly provider: string | null; readonly name: string; readonly connectivity: string }
          readonly resourceCounts: Counts
        }[]
        readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
      }
    } | null
  } | null
}

const readinesses = ['READY', 'PENDING', 'FAILED', 'UNKNOWN'] as const

const counts = /* GraphQL */ `
  total
  sync { applied pending failed retrying deleted }
  presence { unknown notPresent present }
  readiness { ready pending failed unknown }
`

const groupQuery = /* GraphQL */ `
  query Group($id: ID!) {
    rollout(id: $id) {
      state
      status
      readiness
      resourceCounts { ${counts} }
      instances { instanceId revisionNumber status readiness }
    }
  }
`

const placesQuery = /* GraphQL */ `
  query Places($id: ID!, $instance: String!, $after: String) {
    rollout(id: $id) {
      instance(id: $instance) {
        deployments(first: 50, after: $after, orderBy: NAME) {
          nodes { state readiness target { name connectivity ... on Cluster { provider } } resourceCounts { ${counts} } }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
`

export async function checkClusters(
  api: Api,
  rolloutIds: ReadonlyMap<SimulatedGroup, string>,
  ledger: ClusterLedger,
): Promise<ClusterFindings> {
  const differences = [...ledger.differences]
  let [instances, resources, uncertain] = [0, 0, 0]
  for (const [group, account] of ledger.accounts) {
    if (!account.isCertain) uncertain += 1
    const id = rolloutIds.get(group)
    const { rollout } = id ? await api.ask<GroupData>(groupQuery, { id }) : { rollout: null }
    if (!id || !rollout) {
      differences.push(`${group.name}: the deployment intent group does not exist`)
      continue
    }
    if (!account.isCertain) continue
    differences.push(...compareGroup(account, rollout))
    for (const instance of account.instances) {
      instances += 1
      resources += allOf(instance).length
      differences.push(...(await comparePlaces(api, id, group, instance, ledger.online)))
    }
  }
  return { differences, groups: ledger.accounts.size, instances, resources, uncertain }
}

function compareGroup({ group, state, instances }: GroupAccount, found: NonNullable<GroupData['rollout']>): string[] {
  const current = instances.at(-1)
  const all = current ? allOf(current) : []
  return [
    ...differ(`${group.name}`, 'state', found.state, state?.toUpperCase() ?? null),
    ...differ(`${group.name}`, 'status', found.status, current?.status ?? null),
    ...differ(`${group.name}`, 'readiness', found.readiness, readinessOf(all)),
    ...differ(`${group.name}`, 'counts', countsText(found.resourceCounts), countsText(countsOf(all))),
    ...differ(
      `${group.name}`,
      'instances',
      JSON.stringify(found.instances.map((one) => [one.instanceId, one.revisionNumber, one.status, one.readiness])),
      JSON.stringify(instances.map((one) => [one.instanceId, one.revisionNumber, one.status, readinessOf(allOf(one))])),
    ),
  ]
}

async function comparePlaces(
  api: Api,
  id: string,
  group: SimulatedGroup,
  instance: ExpectedInstance,
  online: ReadonlyMap<string, boolean>,
): Promise<string[]> {
  const differences: string[] = []
  const missing = new Set([...instance.resources].filter(([, on]) => on.size > 0).map(([cluster]) => cluster))
  for (let after: string | null = null, isMore = true; isMore; ) {
    const variables: object = { id, instance: instance.instanceId, after }
    const { rollout }: PlacesData = await api.ask<PlacesData>(placesQuery, variables)
    const page = rollout?.instance?.deployments
    if (!page) return [`${group.name}: the instance ${instance.instanceId} does not exist`]
    for (const { state, readiness, target, resourceCounts } of page.nodes) {
      const cluster = `${target.provider}+${target.name}`
      const name = `${group.name}, ${instance.instanceId} on ${cluster}`
      const expected = [...(instance.resources.get(cluster)?.values() ?? [])]
      if (!missing.delete(cluster)) differences.push(`${name} was never rolled out`)
      differences.push(
        ...differ(name, 'state', state, stateOn(instance, cluster)),
        ...differ(name, 'readiness', readiness, readinessOf(expected)),
        ...differ(name, 'counts', countsText(resourceCounts), countsText(countsOf(expected))),
        ...compareConnectivity(name, target.connectivity, online.get(cluster)),
      )
    }
    after = page.pageInfo.endCursor
    isMore = page.pageInfo.hasNextPage
  }
  for (const cluster of missing) differences.push(`${group.name}, ${instance.instanceId}: nothing is on ${cluster}`)
  return differences
}

function compareConnectivity(name: string, found: string, isOnline: boolean | undefined): string[] {
  return isOnline === undefined ? [] : differ(name, 'connectivity', found, isOnline ? 'ONLINE' : 'RETRYING')
}

function differ(name: string, what: string, found: string | null, expected: string | null): string[] {
  return found === expected ? [] : [`${name}: its ${what} is ${found}, but should be ${expected}`]
}

function allOf({ resources }: ExpectedInstance): ExpectedResource[] {
  return [...resources.values()].flatMap((on) => [...on.values()])
}

function countsOf(resources: readonly ExpectedResource[]): Counts {
  const by = (what: 'sync' | 'presence' | 'readiness', values: readonly string[]): Record<string, number> =>
    Object.fromEntries(values.map((value) => [fieldOf(value), resources.filter((one) => one[what] === value).length]))
  return {
    total: resources.length,
    sync: by('sync', syncStatuses),
    presence: by('presence', presences),
    readiness: by('readiness', readinesses),
  }
}

/** NOT_PRESENT → notPresent */
function fieldOf(value: string): string {
  return value.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}

function countsText({ total, sync, presence, readiness }: Counts): string {
  const parts = Object.entries({ sync, presence, readiness }).map(
    ([name, values]) =>
      `${name} ${Object.entries(values)
        .filter(([, n]) => n > 0)
        .map(([key, n]) => `${n} ${key}`)
        .toSorted()
        .join(' ')}`,
  )
  return `${total}: ${parts.join(', ')}`
}
