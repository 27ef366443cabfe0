/** How many devices are in maintenance, and until when: of a rollout, and by site. */
import { type FragmentOf, graphql } from '../data/graphql.ts'
import { formatNumber } from '../data/labels.ts'
import { formatTime } from '../data/time.ts'
import { href } from '../route.ts'
import { writeLabel } from './lists/filters.tsx'
import { StateMark } from './states/state-mark.tsx'

interface BadgeProps {
  /** Deployments of a rollout, or devices and clusters of a site. */
  readonly count: number
  /** Null: not known. */
  readonly total: number | null
  readonly until: string
}

export function MaintenanceBadge({ count, total, until }: BadgeProps) {
  const share = total === null ? formatNumber(count) : `${formatNumber(count)} of ${formatNumber(total)}`
  return <StateMark of="MAINTENANCE">{`${share} in maintenance until ${formatTime(until)}`}</StateMark>
}

export const sitesInMaintenanceFragment = graphql(`
  fragment SitesInMaintenance on Query {
    inMaintenance: sitesInMaintenance(labelKey: $labelKey, first: 10, asOf: $asOf) { site targets total until }
  }
`)

interface SitesProps {
  readonly of: FragmentOf<typeof sitesInMaintenanceFragment>['inMaintenance']
  /** The label whose values the sites are. */
  readonly labelKey: string
}

export function SitesInMaintenance({ of, labelKey }: SitesProps) {
  if (of.length === 0) return null
  return (
    <section class="panel" aria-labelledby="in-maintenance">
      <h2 id="in-maintenance">
        In maintenance <a href={href(['devices'], { maintenance: 'true' })}>All devices in maintenance</a>
      </h2>
      <ul class="sites" aria-label={`In maintenance, by ${labelKey}`}>
        {of.map(({ site, targets, total, until }) => (
          <li key={site}>
            {site === null ? (
              `no ${labelKey}`
            ) : (
              <a href={href(['devices'], { maintenance: 'true', label: writeLabel({ key: labelKey, value: site }) })}>
                {site}
              </a>
            )}{' '}
            <MaintenanceBadge count={targets} total={total} until={until} />
          </li>
        ))}
      </ul>
    </section>
  )
}
