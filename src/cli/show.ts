/** What deployments, rollouts and changes look like in a terminal, and the fields that takes. */
import { type DeploymentState, deploymentStates, type StatusError } from '../domain/deployment.ts'
import { inStateColour, paint, stateBar, type Terminal } from './terminal.ts'

export interface ShownDeployment {
  readonly id: string
  readonly deploymentId: string
  readonly target: { readonly name: string }
  readonly state: DeploymentState
  readonly stalled: boolean
  readonly error: StatusError | null
  readonly components: readonly { readonly name: string; readonly state: DeploymentState }[]
  readonly changedAt: string
  readonly revision: string
}

export const deploymentFields =
  'id deploymentId target { name } state stalled error { code message source } components { name state } changedAt revision'

export const deploymentHead = ['DEPLOYMENT', 'ON', 'STATE', 'COMPONENTS', 'CHANGED', 'ERROR'] as const

export function deploymentRow(terminal: Terminal, deployment: ShownDeployment): string[] {
  const { deploymentId, target, state, stalled, error, components, changedAt } = deployment
  const installed = components.filter((component) => component.state === 'INSTALLED').length
  return [
    deploymentId,
    target.name,
    inStateColour(terminal, state, state) + (stalled ? paint(terminal, 'yellow', ' stalled') : ''),
    components.length === 0 ? '-' : `${installed}/${components.length}`,
    changedAt.slice(0, 19).replace('T', ' '),
    describeError(error),
  ]
}

export function describeError(error: StatusError | null): string {
  return error ? oneLine([error.code, error.message].filter((part) => part !== '').join(': ')) : ''
}

/** What a device says must not move the reader's cursor. */
export function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}

export type Counts = Readonly<Record<DeploymentState | 'total', number>>

export const countFields = `total ${deploymentStates.map((state) => state.toLowerCase()).join(' ')}`

/** From the fields' names, which are lower case. */
export function readCounts(fields: Readonly<Record<string, number>>): Counts {
  const states = deploymentStates.map((state) => [state, fields[state.toLowerCase()] ?? 0])
  return { ...Object.fromEntries(states), total: fields.total ?? 0 } as Counts
}

export function describeCounts(terminal: Terminal, counts: Counts): string {
  const parts = deploymentStates
    .filter((state) => counts[state] > 0)
    .map((state) => inStateColour(terminal, state, `${counts[state]} ${state.toLowerCase()}`))
  const bar = terminal.isLive && counts.total > 0 ? `${stateBar(terminal, counts, 30)} ` : ''
  return `${bar}${counts.total} ${counts.total === 1 ? 'deployment' : 'deployments'}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`
}

export interface ShownChange {
  readonly revision: string
  readonly at: string
  readonly kind: string
  readonly deployment?: { readonly deploymentId: string; readonly target: { readonly name: string } } | null
  readonly target?: { readonly name: string }
  readonly component?: string
  readonly from?: string | null
  readonly to?: string | null
  readonly fromConnectivity?: string | null
  readonly toConnectivity?: string
  readonly error?: StatusError | null
  readonly stalled?: boolean
}

/** `deployment` selects what is wanted of the deployment that a change is of. */
export function changeFields(deployment: string): string {
  const of = `deployment { ${deployment} }`
  return `revision at observedAt kind
    ... on DeploymentStateChanged { from to attempt error { code message source } ${of} }
    ... on ComponentStateChanged { component from to error { code message source } ${of} }
    ... on ComponentRemoved { component from ${of} }
    ... on DeploymentMoved { ${of} }
    ... on DeploymentRevised { application applicationVersion ${of} }
    ... on DeploymentForgotten { ${of} }
    ... on DeploymentStalled { stalled ${of} }
    ... on ConnectivityChanged { fromConnectivity toConnectivity target { name } }`
}

export function describeChange(terminal: Terminal, change: ShownChange): string {
  const { at, kind, deployment, target, component, error } = change
  const [from, to] = [change.from ?? change.fromConnectivity ?? null, change.to ?? change.toConnectivity ?? null]
  const subject = deployment ? `${deployment.deploymentId} on ${deployment.target.name}` : (target?.name ?? '')
  const arrow = to === null ? '' : `${from === null || from === to ? '' : `${from} → `}${shown(terminal, to)}`
  const stalled = change.stalled === undefined ? '' : change.stalled ? 'stalled' : 'goes on'
  const what = [component, arrow || stalled || kind, describeError(error ?? null)].filter(Boolean).join('  ')
  return `${at.slice(0, 19).replace('T', ' ')}  ${subject}  ${what}`
}

function shown(terminal: Terminal, state: string): string {
  const known = deploymentStates.find((name) => name === state)
  return known ? inStateColour(terminal, known, state) : state
}
