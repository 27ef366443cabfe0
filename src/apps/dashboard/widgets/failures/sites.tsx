/** Where deployments fail: by the values of a label that the reader chooses. */
import type { SitesData } from '../../data/causes.ts'
import { formatNumber } from '../../data/labels.ts'
import type { SiteLabels } from '../../data/use-causes.ts'
import type { Parameters } from '../../route.ts'
import { useFilters, writeLabel } from '../lists/filters.tsx'

interface ChoiceProps {
  readonly of: SitesData | undefined
  readonly labels: SiteLabels
  readonly to: (parameters: Parameters) => string
}

/** Which label, and the sites of all failures. Nothing if there are no labels. */
export function SiteChoice({ of, labels, to }: ChoiceProps) {
  const { set } = useFilters()
  const { keys, chosen } = labels
  if (chosen === null) return null
  return (
    <div class="affected">
      <label>
        <span class="muted">Affected by</span>{' '}
        <select value={chosen} onChange={(event) => set({ by: event.currentTarget.value })}>
          {keys.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <Sites of={of} labels={labels} label={`Failed, by ${chosen}`} to={(label) => to({ state: 'FAILED', label })} />
    </div>
  )
}

interface SitesProps {
  readonly of: SitesData | undefined
  readonly labels: SiteLabels
  readonly label: string
  readonly to: (label: string) => string
}

/** Until the answer by the chosen label is there, it is empty, and as high as one line. */
export function Sites({ of, labels: { chosen, answered }, label, to }: SitesProps) {
  const { nodes, totalCount } = of && answered === chosen ? of : { nodes: [], totalCount: 0 }
  return (
    <ul class="sites" aria-label={label}>
      {nodes.map((site) => (
        <li key={site.key}>
          {site.key === null || chosen === null ? (
            `no ${chosen}`
          ) : (
            <a href={to(writeLabel({ key: chosen, value: site.key }))}>{site.key}</a>
          )}{' '}
          <b class="number">{formatNumber(site.counts.total)}</b>
        </li>
      ))}
      {totalCount > nodes.length && <li class="muted">and {formatNumber(totalCount - nodes.length)} more</li>}
    </ul>
  )
}
