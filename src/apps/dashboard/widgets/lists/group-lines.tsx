/** Deployments in groups, as lines: by application where no rollouts are declared, by rollout in the past. */
import { writeGroup } from '../../data/causes.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { formatNumber } from '../../data/labels.ts'
import { href } from '../../route.ts'
import { MaintenanceBadge } from '../maintenance.tsx'
import { Name } from '../name.tsx'
import { CountsBar } from '../states/counts-bar.tsx'
import { ShortHeadline } from '../states/standing.tsx'
import { StateMark } from '../states/state-mark.tsx'

export const groupsFragment = graphql(`
  fragment GroupLines on DeploymentGroupConnection {
    totalCount
    nodes { key rollout { presentId name maintenance { deployments until } } counts { total pending installing installed failed removing removed } }
  }
`)

export function GroupLines({ of: { nodes, totalCount } }: { readonly of: FragmentOf<typeof groupsFragment> }) {
  return (
    <>
      <ul class="rollouts">
        {nodes.map(({ key, rollout, counts }) => {
          const name = rollout?.name ?? key ?? 'No application declared'
          return (
            <li key={key} class="rollout-line">
              <a
                href={
                  rollout
                    ? href(['rollout', rollout.presentId])
                    : href(['deployments'], { group: writeGroup({ by: 'APPLICATION', key }) })
                }
              >
                <Name>{name}</Name>
              </a>
              <small class="muted kind">{rollout ? 'Rollout' : key === null ? null : 'Application'}</small>
              <CountsBar counts={counts} label={name} />
              <ShortHeadline of={{ counts }} />
              <span class="marks">
                {counts.failed > 0 && <StateMark of="FAILED">{`${formatNumber(counts.failed)} failed`}</StateMark>}
                {rollout?.maintenance && (
                  <MaintenanceBadge
                    count={rollout.maintenance.deployments}
                    total={counts.total}
                    until={rollout.maintenance.until}
                  />
                )}
              </span>
            </li>
          )
        })}
      </ul>
      {totalCount > nodes.length && <p class="muted">and {formatNumber(totalCount - nodes.length)} more</p>}
    </>
  )
}
