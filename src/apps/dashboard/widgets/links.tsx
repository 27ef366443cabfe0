/** Links to deployments and devices, by the names that people know them by. */
import type { Row } from '../data/deployment-rows.ts'
import { href } from '../route.ts'
import { Name } from './name.tsx'

type Named = Pick<Row, 'deploymentId' | 'reporter' | 'application' | 'applicationVersion'>
type Target = Pick<Row['target'], 'name' | 'id'> & { readonly deviceId?: string }

/** Shows the declared application first, because a deployment ID is usually an opaque number. */
export function DeploymentLink({ deployment }: { readonly deployment: Named }) {
  const { application, applicationVersion, deploymentId } = deployment
  return (
    <a href={deploymentHref(deployment)} title={deploymentId}>
      <Name>{application ? [application, applicationVersion].filter(Boolean).join(' ') : deploymentId}</Name>
      {application && (
        <small>
          <Name>{deploymentId}</Name>
        </small>
      )}
    </a>
  )
}

export const deploymentHref = ({ deploymentId, reporter }: Pick<Row, 'deploymentId' | 'reporter'>): string =>
  href(['deployment', reporter, deploymentId])

/** A link to a device, or the name of a cluster. */
export function TargetLink({ target }: { readonly target: Target }) {
  return target.deviceId === undefined ? (
    <Name>{target.name}</Name>
  ) : (
    <a href={href(['device', target.deviceId])}>
      <Name>{target.name}</Name>
    </a>
  )
}
