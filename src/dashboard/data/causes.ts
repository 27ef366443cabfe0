/** Why deployments fail or wait: the server groups and counts them. A group's name in an address selects its deployments. */
import { type FragmentOf, graphql, type VariablesOf } from './graphql.ts'

const causeFragment = graphql(`
  fragment Cause on DeploymentGroup {
    key detail components since counts { total }
    deployments(first: 1) {
      deploymentId reporter
      desired { declaredAt declaredBy reason }
      target { id labels { key } }
      broken: resources(filter: { readiness: [FAILED] }, first: 1) { nodes { kind name reason message } }
    }
  }
`)

export type Cause = FragmentOf<typeof causeFragment>

/** With the variables $rolloutIds and $instanceIds (absent: the fleet), and $asOf. */
export const causesFragment = graphql(
  `
    fragment Causes on Query {
      failedBy: deploymentGroups(by: ERROR, filter: { states: [FAILED], rolloutIds: $rolloutIds, instanceIds: $instanceIds }, first: 8, asOf: $asOf) {
        totalCount nodes { ...Cause }
      }
      waitingFor: deploymentGroups(by: ERROR, filter: { states: [PENDING], hasError: true, rolloutIds: $rolloutIds, instanceIds: $instanceIds }, first: 4, asOf: $asOf) {
        totalCount nodes { ...Cause }
      }
      slow: deploymentCounts(filter: { stalled: true, rolloutIds: $rolloutIds, instanceIds: $instanceIds }, asOf: $asOf) { total }
      slowest: deployments(filter: { stalled: true, rolloutIds: $rolloutIds, instanceIds: $instanceIds }, orderBy: CHANGED_ASC, first: 1, asOf: $asOf) {
        nodes { changedAt }
      }
      unreachable: deploymentCounts(
        filter: { connectivity: [OFFLINE], states: [PENDING, INSTALLING, FAILED], rolloutIds: $rolloutIds, instanceIds: $instanceIds }
        asOf: $asOf
      ) { total }
    }
  `,
  [causeFragment],
)

export type CausesData = FragmentOf<typeof causesFragment>

const groupDocument = graphql(
  `query Grouped($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { total } }`,
)

type Filter = NonNullable<VariablesOf<typeof groupDocument>['filter']>
export type Group = NonNullable<Filter['group']>

export const writeGroup = ({ by, key = null, detail = null }: Group): string => JSON.stringify([by, key, detail])

const groupings: readonly Group['by'][] = ['APPLICATION', 'ERROR']

/** Null: not a group of these. */
export function readGroup(text: string | null): Group | null {
  try {
    const [name, key = null, detail = null]: (string | null)[] = JSON.parse(text ?? '')
    const by = groupings.find((each) => each === name)
    return by ? { by, key, detail } : null
  } catch {
    return null
  }
}

/** `Error 507: disk full` */
export function describeGroup({ by, key = null, detail = null }: Group): string {
  if (by === 'APPLICATION') return key === null ? 'No application declared' : `Application ${key}`
  return key === null ? 'No error reported' : `Error ${[key, detail].filter(Boolean).join(': ')}`
}
