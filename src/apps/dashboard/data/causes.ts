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

const sitesFragment = graphql(
  `fragment Sites on DeploymentGroupConnection { totalCount nodes { key counts { total } } }`,
)

export type SitesData = FragmentOf<typeof sitesFragment>

/**
 * With the variables $rolloutIds and $instanceIds (absent: the fleet), $asOf, and those of SiteVariables (use-causes.ts). The sites of a cause are
 * in the same answer as its number, so they add up to it.
 */
export const causesFragment = graphql(
  `
    fragment Causes on Query {
      failedBy: deploymentGroups(by: ERROR, filter: { states: [FAILED], rolloutIds: $rolloutIds, instanceIds: $instanceIds }, first: 8, asOf: $asOf) {
        totalCount nodes {
          ...Cause
          sites: deploymentGroups(by: LABEL, labelKey: $labelKey, first: 4) @include(if: $hasLabels) { ...Sites }
        }
      }
      failedAt: deploymentGroups(by: LABEL, labelKey: $labelKey, filter: { states: [FAILED], rolloutIds: $rolloutIds, instanceIds: $instanceIds }, first: 8, asOf: $asOf) @include(if: $hasLabels) {
        ...Sites
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
  [causeFragment, sitesFragment],
)

export type CausesData = FragmentOf<typeof causesFragment>

const groupDocument = graphql(
  `query Grouped($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { total } }`,
)

type Filter = NonNullable<VariablesOf<typeof groupDocument>['filter']>
type Group = NonNullable<Filter['group']>

/** The key of the label comes last: addresses without it are older than it. */
export const writeGroup = ({ by, key = null, detail = null, labelKey = null }: Group): string =>
  JSON.stringify([by, key, detail, ...(labelKey === null ? [] : [labelKey])])

const groupings: readonly Group['by'][] = [
  'APPLICATION',
  'APPLICATION_VERSION',
  'BLOCKING_COMPONENT',
  'DESIRED_CHANGE',
  'ERROR',
  'GATEWAY',
  'LABEL',
]

/** Null: not a group of these. */
export function readGroup(text: string | null): Group | null {
  try {
    const [name, key = null, detail = null, labelKey = null]: (string | null)[] = JSON.parse(text ?? '')
    const by = groupings.find((each) => each === name)
    return by && (by === 'LABEL') === (labelKey !== null) ? { by, key, detail, labelKey } : null
  } catch {
    return null
  }
}

/** `Error 507: disk full` */
export function describeGroup({ by, key = null, detail = null, labelKey = null }: Group): string {
  switch (by) {
    case 'APPLICATION':
      return key === null ? 'No application declared' : `Application ${key}`
    case 'APPLICATION_VERSION':
      return key === null ? 'No version declared' : `Version ${[key, detail].filter(Boolean).join(' of ')}`
    case 'BLOCKING_COMPONENT':
      return `Component ${key ?? 'unknown'}`
    case 'DESIRED_CHANGE':
      return `Change ${[key === null ? null : `“${key}”`, detail].filter(Boolean).join(' by ')}`
    case 'GATEWAY':
      return key === null ? 'No gateway' : `Gateway ${key}`
    case 'LABEL':
      return key === null ? `No ${labelKey}` : `${labelKey}: ${key}`
    default:
      return key === null ? 'No error reported' : `Error ${[key, detail].filter(Boolean).join(': ')}`
  }
}
