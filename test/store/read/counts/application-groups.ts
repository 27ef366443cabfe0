import type { Session } from '../../../../src/store/database.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { type DeploymentGroup, pageGroups } from '../../../../src/store/read/groups/groups.ts'

const fleet = { of: 'fleet' } as const

export async function groupsByApplication(session: Session, filter: DeploymentFilter): Promise<DeploymentGroup[]> {
  const page = { size: 100, after: null, before: null, backward: false }
  const by = { by: 'APPLICATION', labelKey: null } as const
  const pages = await pageGroups(
    session,
    { scope: fleet, by, filter, asOf: null },
    { field: 'SIZE', descending: true },
    page,
  )
  return pages.get(0)?.edges.map(({ node }) => node) ?? []
}
