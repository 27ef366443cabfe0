import { DomainError } from '../../../../domain/errors.ts'
import type { GroupedBy, Grouping, GroupName } from '../../../../store/read/groups/grouping.ts'
import { builder } from '../../builder.ts'
import { decodeNodeId } from '../node.ts'

export const GroupingEnum = builder.enumType('DeploymentGrouping', {
  description: 'What the deployments of a group have in common.',
  values: {
    APPLICATION: { description: 'The declared application.' },
    APPLICATION_VERSION: { description: 'The declared application and its version.' },
    BLOCKING_COMPONENT: {
      description:
        'A component in the same state as its deployment: of a FAILED deployment, the components that failed. A deployment belongs to a group for each of them.',
    },
    COMPONENT: {
      description:
        'A component of that name. A deployment belongs to a group for each of its components, and is counted there by the state of the component.',
    },
    CONVERGENCE: { description: 'Convergence with the desired state.' },
    DESIRED_CHANGE: {
      description:
        'The last change of its desired state: the reason that the caller gave. A change that declares many deployments gives them one reason.',
    },
    ERROR: {
      description:
        'The error code, and the message without what contains a digit: IDs, numbers, addresses. It is the error of a failed component, else of any component, else of the deployment itself.',
    },
    GATEWAY: {
      description:
        'The device that sends its reports: the gateway, or the device itself. Null for orchestrated deployments.',
    },
    LABEL: { description: "The value of the target's label with the key `labelKey`." },
    MANIFEST_VERSION: { description: 'The version of the desired state that the device has adopted.' },
    RETIREMENT: {
      description:
        'The reason for which their device was retired, with the filter `{ retired: true }`. In the past, too, the present reason. Null: only the device that reports them was retired, or none.',
    },
    ROLLOUT: { description: 'The rollout.' },
    TARGET: { description: 'The device or cluster that they run on.' },
  } satisfies { readonly [Name in Grouping]: { readonly description: string } },
})

const detailDescription =
  'For APPLICATION_VERSION the application, for DESIRED_CHANGE the caller, for ERROR the message without what contains a digit. Null for the other groupings.'
export const groupDescriptions = {
  key: 'The common value. For ROLLOUT and TARGET its node ID. Null: the deployments have no such value.',
  detail: detailDescription,
} as const

export const DeploymentGroupInput = builder.inputType('DeploymentGroupInput', {
  description: 'One group of deployments, named as `deploymentGroups` returned it.',
  fields: (t) => ({
    by: t.field({ type: GroupingEnum, required: true, description: 'The grouping.' }),
    labelKey: t.string({ description: 'The key of the label. Required for LABEL, and only there.' }),
    key: t.string({ description: groupDescriptions.key }),
    detail: t.string({ description: groupDescriptions.detail }),
  }),
})

/** @throws BAD_USER_INPUT if `labelKey` does not fit the grouping. */
export function toGroupedBy(args: { readonly by: Grouping; readonly labelKey?: string | null | undefined }): GroupedBy {
  const { by, labelKey = null } = args
  if (by === 'LABEL' && labelKey === null) throw refusal('labelKey is required to group by LABEL')
  if (by !== 'LABEL' && labelKey !== null) throw refusal(`labelKey cannot be combined with ${by}`)
  return { by, labelKey }
}

export function toGroupName(input: typeof DeploymentGroupInput.$inferInput): GroupName {
  const { key = null, detail = null } = input
  return { ...toGroupedBy(input), value: storedValue(input.by, key), detail }
}

/** Node IDs contain the key of a row. An ID that the server never issued names an empty group. */
function storedValue(by: Grouping, key: string | null): string | null {
  if (key === null || (by !== 'ROLLOUT' && by !== 'TARGET')) return key
  const id = decodeNodeId(key)
  const isMeant = by === 'ROLLOUT' ? id?.type === 'Rollout' : id?.type === 'Device' || id?.type === 'Cluster'
  return id && isMeant ? String(id.key) : ''
}

function refusal(message: string): DomainError {
  return new DomainError('BAD_USER_INPUT', message, { problems: [{ field: 'labelKey', message }] })
}
