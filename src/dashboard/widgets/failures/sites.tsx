/** Where deployments fail: by the values of a label that the reader chooses. */
import type { ComponentChildren } from 'preact'
import { type Cause, writeGroup } from '../../data/causes.ts'
import type { DeploymentFilter } from '../../data/deployment-rows.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { formatNumber } from '../../data/labels.ts'
import { useAnswer } from '../../data/use-query.ts'
import { at, type Parameters } from '../../route.ts'
import { useFilters } from '../lists/filters.tsx'

const siteFragment = graphql(
  `fragment Sites on DeploymentGroupConnection { totalCount nodes { key counts { total } } }`,
)

/** One request for the causes that are shown first. */
const sitesDocument = graphql(
  `
    query Sites($key: String!, $asOf: DateTime, $all: DeploymentFilter, $c0: DeploymentFilter, $c1: DeploymentFilter, $c2: DeploymentFilter, $c3: DeploymentFilter, $h0: Boolean!, $h1: Boolean!, $h2: Boolean!, $h3: Boolean!) {
      all: deploymentGroups(by: LABEL, labelKey: $key, filter: $all, asOf: $asOf, first: 8) { ...Sites }
      c0: deploymentGroups(by: LABEL, labelKey: $key, filter: $c0, asOf: $asOf, first: 4) @include(if: $h0) { ...Sites }
      c1: deploymentGroups(by: LABEL, labelKey: $key, filter: $c1, asOf: $asOf, first: 4) @include(if: $h1) { ...Sites }
      c2: deploymentGroups(by: LABEL, labelKey: $key, filter: $c2, asOf: $asOf, first: 4) @include(if: $h2) { ...Sites }
      c3: deploymentGroups(by: LABEL, labelKey: $key, filter: $c3, asOf: $asOf, first: 4) @include(if: $h3) { ...Sites }
    }
  `,
  [siteFragment],
)

interface SitesOptions {
  readonly causes: readonly Cause[]
  readonly scope: DeploymentFilter
  /** That of the causes. */
  readonly revision: string
  readonly to: (parameters: Parameters) => string
}

export function useSites({ causes, scope, revision, to }: SitesOptions) {
  const { one, set } = useFilters()
  const asOf = at.value
  const filter: DeploymentFilter = { ...scope, states: ['FAILED'] }
  const keys = [...new Set(causes.flatMap(labelKeysOf))].sort()
  const asked = one('by')
  const key = keys.find((each) => each === asked) ?? keys.find((each) => each === 'site') ?? keys[0] ?? null
  const filterOf = (cause: Cause | undefined): DeploymentFilter | null =>
    cause ? { ...filter, group: { by: 'ERROR', key: cause.key, detail: cause.detail } } : null
  const [c0, c1, c2, c3] = [filterOf(causes[0]), filterOf(causes[1]), filterOf(causes[2]), filterOf(causes[3])]
  const has = { h0: c0 !== null, h1: c1 !== null, h2: c2 !== null, h3: c3 !== null }
  const { data, answered } = useAnswer(
    sitesDocument,
    { key: key ?? '', asOf, all: filter, c0, c1, c2, c3, ...has },
    { version: revision, isOff: key === null },
  )
  // The answer may still be about another label, scope or time, or have the causes in another order.
  const isOfFilter = answered?.key === key && answered.asOf === asOf && isSame(answered.all, filter)
  const perCause = [
    { asked: answered?.c0, sites: data?.c0 },
    { asked: answered?.c1, sites: data?.c1 },
    { asked: answered?.c2, sites: data?.c2 },
    { asked: answered?.c3, sites: data?.c3 },
  ]
  return {
    choice: key !== null && (
      <div class="affected">
        <label>
          <span class="muted">Affected by</span>{' '}
          <select value={key} onChange={(event) => set({ by: event.currentTarget.value })}>
            {keys.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <Sites
          of={isOfFilter ? data?.all : null}
          labelKey={key}
          label={`Failed, by ${key}`}
          to={(label) => to({ state: 'FAILED', label })}
        />
      </div>
    ),
    sitesOf(cause: Cause): ComponentChildren {
      if (key === null || causes.length === 1 || causes.indexOf(cause) >= perCause.length) return null
      const group = writeGroup({ by: 'ERROR', key: cause.key, detail: cause.detail })
      const own = filterOf(cause)
      return (
        <Sites
          of={isOfFilter ? perCause.find(({ asked }) => isSame(asked, own))?.sites : null}
          labelKey={key}
          label={`This cause, by ${key}`}
          to={(label) => to({ state: 'FAILED', group, label })}
        />
      )
    },
  }
}

interface SitesProps {
  readonly of: FragmentOf<typeof siteFragment> | null | undefined
  readonly labelKey: string
  readonly label: string
  readonly to: (label: string) => string
}

/** Before it is filled, it is as high as one line. */
function Sites({ of, labelKey, label, to }: SitesProps) {
  const { nodes, totalCount } = of ?? { nodes: [], totalCount: 0 }
  return (
    <ul class="sites" aria-label={label}>
      {nodes.map((site) => (
        <li key={site.key}>
          {site.key === null ? `no ${labelKey}` : <a href={to(`${labelKey}=${site.key}`)}>{site.key}</a>}{' '}
          <b class="number">{formatNumber(site.counts.total)}</b>
        </li>
      ))}
      {totalCount > nodes.length && <li class="muted">and {formatNumber(totalCount - nodes.length)} more</li>}
    </ul>
  )
}

const labelKeysOf = ({ deployments }: Cause): readonly string[] =>
  deployments.flatMap(({ target }) => target.labels.map(({ key }) => key))

const isSame = (one: DeploymentFilter | null | undefined, other: DeploymentFilter | null): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other)
