/**
 * The filter of one group. Of most groupings, the deployments of a group match conditions that indexes and stored counts serve. The group itself is a computed
 * value of each row, which none serves.
 */
import { convergences } from '../../../domain/desired.ts'
import type { DeploymentCondition, DeploymentFilter } from '../filters/deployment-filter.ts'
import type { GroupName } from './grouping.ts'

interface Implied {
  readonly conditions: DeploymentCondition
  /** All deployments that match the conditions belong to the group. */
  readonly isExact: boolean
}

/** The filter, for the deployments of the group only. */
export function withinGroup(filter: DeploymentFilter, group: GroupName): DeploymentFilter {
  const implied = impliedBy(group)
  if (!implied) return { ...filter, group }
  const { conditions, isExact } = implied
  const where = filter.where ? { and: [filter.where, conditions] } : conditions
  return { ...filter, where, ...(isExact ? {} : { group }) }
}

/** Null: nothing that an index serves. */
function impliedBy({ by, value, detail, labelKey }: GroupName): Implied | null {
  if (value === null) return null
  switch (by) {
    case 'APPLICATION_VERSION':
      return detail === null ? null : exactly({ applications: [detail], applicationVersions: [value] })
    // Its deployments may have other errors, too.
    case 'ERROR':
      return nearly({ errorCodes: [value] })
    case 'BLOCKING_COMPONENT':
      return nearly({ components: [value] })
    // A target may have several labels with the key, of which one counts.
    case 'LABEL':
      return labelKey === null ? null : nearly({ label: { key: labelKey, equals: value } })
    case 'DESIRED_CHANGE':
    case 'GATEWAY':
    case 'MANIFEST_VERSION':
    case 'RETIREMENT':
    case 'TARGET':
      return null
    case 'APPLICATION':
      return detail === null ? exactly({ applications: [value] }) : null
    case 'COMPONENT':
      return detail === null ? exactly({ components: [value] }) : null
    case 'CONVERGENCE': {
      const convergence = convergences.find((one) => one === value)
      return detail === null && convergence ? exactly({ convergence: [convergence] }) : null
    }
    case 'ROLLOUT':
      return detail === null && /^\d{1,15}$/.test(value) ? exactly({ rolloutKeys: [Number(value)] }) : null
  }
}

function exactly(conditions: DeploymentCondition): Implied {
  return { conditions, isExact: true }
}

function nearly(conditions: DeploymentCondition): Implied {
  return { conditions, isExact: false }
}
