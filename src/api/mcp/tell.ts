/** A change in words: the history of a device or a deployment. */
import { z } from 'zod'
import { type ErrorData, idOf, type TargetData } from './shapes.ts'
import { mark, markId, quote, untrusted } from './untrusted.ts'

/** The fields of documents.ts, whichever kind of change it is. */
export interface ChangeData {
  readonly __typename: string
  readonly revision: string
  readonly at: string
  readonly deploymentId?: string
  readonly device?: { readonly deviceId: string } | null
  readonly from?: string | null
  readonly to?: string
  readonly attempt?: number
  readonly error?: ErrorData | null
  readonly component?: string
  readonly stalled?: boolean
  readonly toTarget?: { readonly name: string } | null
  readonly target?: TargetData | null
  readonly fromConvergence?: string
  readonly toConvergence?: string
  readonly fromConnectivity?: string | null
  readonly toConnectivity?: string
  readonly fromStatus?: string | null
  readonly toStatus?: string
  readonly reason?: string | null
  readonly comment?: string
  readonly alert?: { readonly rule: string }
  readonly action?: { readonly state: string }
  readonly rollout?: { readonly name: string }
}

export interface ChangesData {
  readonly nodes: readonly ChangeData[]
  readonly pageInfo: { readonly hasPreviousPage: boolean }
}

/** To count them would read them all. */
export const atLeast = ({ nodes, pageInfo }: ChangesData): number => nodes.length + (pageInfo.hasPreviousPage ? 1 : 0)

export const changes = z
  .array(
    z.object({
      at: z.string(),
      revision: z.string(),
      subject: untrusted.nullable(),
      what: z.string(),
      untrusted: z.string().nullable(),
    }),
  )
  .describe('What happened, in words. `untrusted`: what a device or a person said about it.')
type Change = z.infer<typeof changes>[number]

export function changeOf(change: ChangeData): Change {
  const { at, revision, deploymentId, device, target, rollout, alert } = change
  const names = [
    deploymentId,
    deploymentId === undefined ? undefined : device?.deviceId,
    target ? idOf(target) : undefined,
    alert?.rule,
    rollout?.name,
  ]
  const subject = names.filter((name) => name !== undefined).join(' on ')
  const said = saidOf(change)
  return {
    at,
    revision,
    subject: subject === '' ? null : markId(subject),
    what: whatOf(change),
    untrusted: said && mark(said).untrusted,
  }
}

export const sayChange = ({ at, subject, what, untrusted: said }: Change): string =>
  `${at} ${subject === null ? '' : `${quote(subject)} `}${what}${said === null ? '' : `: ${quote({ untrusted: said })}`}`

/** What was said of it: by a device of a state, by a person of a decision. */
function saidOf({ component, error, toTarget, reason, comment }: ChangeData): string | null {
  const parts = [component, error?.code, error?.message, toTarget?.name, reason, comment]
  const said = parts.filter((part) => part !== undefined && part !== null && part !== '')
  return said.length === 0 ? null : said.join(' · ')
}

function whatOf(change: ChangeData): string {
  const { from, to, attempt, stalled } = change
  const arrow = (before: string | null | undefined, after: string | undefined): string =>
    before === null || before === undefined || before === after ? `is ${after}` : `went from ${before} to ${after}`
  switch (change.__typename) {
    case 'DeploymentStateChanged':
      return `${arrow(from, to)}${attempt !== undefined && attempt > 1 ? ` (attempt ${attempt})` : ''}`
    case 'ComponentStateChanged':
      return `has a component that ${arrow(from, to)}`
    case 'ComponentRemoved':
      return 'lost a component'
    case 'DeploymentMoved':
      return 'moved'
    case 'DeploymentStalled':
      return stalled ? 'stalled' : 'no longer stalls'
    case 'ConvergenceChanged':
      return arrow(change.fromConvergence, change.toConvergence)
    case 'ConnectivityChanged':
      return arrow(change.fromConnectivity, change.toConnectivity)
    case 'InstanceStatusChanged':
      return arrow(change.fromStatus, change.toStatus)
    case 'LifecycleActionRecorded':
      return `got the action ${change.action?.state}`
    default:
      return wordsOf(change.__typename)
  }
}

/** `DeviceRetired`: "device retired". */
const wordsOf = (name: string): string => name.replaceAll(/(?<!^)([A-Z])/g, ' $1').toLowerCase()
