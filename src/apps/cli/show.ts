/** Formats deployments, rollouts and changes for a terminal, and names the fields that this needs. */
import { type Convergence, convergences } from '../../domain/desired.ts'
import { escapeHidden } from '../../domain/look-alike.ts'
import { type DeploymentState, deploymentStates, type StatusError } from '../../domain/values.ts'
import { inStateColour, paint, stateBar, type Terminal } from './terminal.ts'

export interface ShownDeployment {
  readonly id: string
  readonly deploymentId: string
  readonly target: { readonly name: string }
  readonly state: DeploymentState
  readonly stalled: boolean
  readonly convergence: Convergence
  readonly adoptedManifestVersion: string | null
  readonly targetManifestVersion: string | null
  readonly error: StatusError | null
  readonly components: readonly { readonly name: string; readonly state: DeploymentState }[]
  readonly changedAt: string
  readonly revision: string
}

export const deploymentFields =
  'id deploymentId target { name } state stalled convergence adoptedManifestVersion targetManifestVersion error { code message source } components { name state } changedAt revision'

export const deploymentHead = ['DEPLOYMENT', 'ON', 'STATE', 'CONVERGENCE', 'COMPONENTS', 'CHANGED', 'ERROR'] as const

export function deploymentRow(terminal: Terminal, deployment: ShownDeployment): string[] {
  const { deploymentId, target, state, stalled, error, components, changedAt } = deployment
  const installed = components.filter((component) => component.state === 'INSTALLED').length
  return [
    deploymentId,
    target.name,
    inStateColour(terminal, state, state) + (stalled ? paint(terminal, 'yellow', ' stalled') : ''),
    describeConvergence(terminal, deployment),
    components.length === 0 ? '-' : `${installed}/${components.length}`,
    momentOf(changedAt),
    describeError(error),
  ]
}

/** `-` without a target version; for a stale deployment also its adopted and its target version. */
export function describeConvergence(terminal: Terminal, of: ShownDeployment): string {
  const { convergence, adoptedManifestVersion: adopted, targetManifestVersion: target } = of
  if (target === null) return '-'
  if (convergence !== 'STALE') return inColour(terminal, convergence)
  return `${inColour(terminal, convergence)} ${adopted} → ${target}`
}

const colours: Readonly<Record<Convergence, DeploymentState>> = {
  CONVERGED: 'INSTALLED',
  APPLYING: 'INSTALLING',
  FAILED: 'FAILED',
  STALE: 'REMOVING',
  UNKNOWN: 'PENDING',
}

function inColour(terminal: Terminal, convergence: Convergence, text: string = convergence): string {
  return inStateColour(terminal, colours[convergence], text)
}

export function describeError(error: StatusError | null): string {
  return error ? [error.code, error.message].filter((part) => part !== '').join(': ') : ''
}

/** One line of JSON. JSON itself escapes no control characters above U+007E, and some terminals obey them. */
export function jsonLine(value: unknown): string {
  return `${escapeHidden(JSON.stringify(value))}\n`
}

export interface Counts extends Readonly<Record<DeploymentState | 'total', number>> {
  readonly convergence: Readonly<Record<Convergence, number>>
}

const fieldsOf = (names: readonly string[]): string => names.map((name) => name.toLowerCase()).join(' ')

export const countFields = `total ${fieldsOf(deploymentStates)} convergence { ${fieldsOf(convergences)} }`

/** Counts as the API returns them. */
export type CountData = Readonly<Record<string, number | Readonly<Record<string, number>>>>

/** Maps the API's lower-case field names to the enum values. */
export function readCounts({ convergence = {}, ...fields }: CountData): Counts {
  const read = (names: readonly string[], from: CountData[string]): object =>
    Object.fromEntries(names.map((name) => [name, (from as Readonly<Record<string, number>>)[name.toLowerCase()] ?? 0]))
  return {
    ...read(deploymentStates, fields as Readonly<Record<string, number>>),
    total: fields.total ?? 0,
    convergence: read(convergences, convergence),
  } as Counts
}

export function describeCounts(terminal: Terminal, counts: Counts): string {
  const parts = deploymentStates
    .filter((state) => counts[state] > 0)
    .map((state) => inStateColour(terminal, state, `${counts[state]} ${state.toLowerCase()}`))
  const bar = terminal.isLive && counts.total > 0 ? `${stateBar(terminal, counts, 30)} ` : ''
  const meant = convergences
    .filter((name) => name !== 'UNKNOWN' && counts.convergence[name] > 0)
    .map((name) => inColour(terminal, name, `${counts.convergence[name]} ${name.toLowerCase()}`))
  const against = meant.length > 0 ? `; convergence: ${meant.join(', ')}` : ''
  return `${bar}${counts.total} ${counts.total === 1 ? 'deployment' : 'deployments'}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}${against}`
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
  readonly fromConvergence?: string
  readonly toConvergence?: string
  readonly targetManifestVersion?: string | null
  readonly error?: StatusError | null
  readonly stalled?: boolean
  readonly reason?: string
  readonly rollout?: { readonly name: string }
  readonly toLabels?: readonly ShownLabel[]
}

export interface ShownLabel {
  readonly key: string
  readonly value: string
}

export const describeLabels = (labels: readonly ShownLabel[]): string =>
  labels.map(({ key, value }) => `${key}=${value}`).join(', ')

/** `deployment` selects the fields of each change's deployment. */
export const changeFields = `revision at observedAt kind
    ... on DeploymentChange { deployment { deploymentId target { name } } }
    ... on DeploymentStateChanged { from to attempt error { code message source } }
    ... on ComponentStateChanged { component from to error { code message source } }
    ... on ComponentRemoved { component from }
    ... on DeploymentRevised { application applicationVersion }
    ... on DeploymentStalled { stalled }
    ... on ConvergenceChanged { fromConvergence toConvergence targetManifestVersion documentDigest }
    ... on ConnectivityChanged { fromConnectivity toConnectivity target { name } }
    ... on DeviceRetired { reason target: device { name } }
    ... on DeviceReinstated { target: device { name } }
    ... on MaintenanceStarted { reason target { name } }
    ... on MaintenanceEnded { reason target { name } }
    ... on MaintenancePlanned { reason }
    ... on MaintenanceCancelled { reason }
    ... on RolloutLabelsChanged { rollout { name } toLabels { key value } }`

export function describeChange(terminal: Terminal, change: ShownChange): string {
  const { at, kind, deployment, target, component, error } = change
  const from = change.from ?? change.fromConnectivity ?? change.fromConvergence ?? null
  const to = change.to ?? change.toConnectivity ?? change.toConvergence ?? null
  const subject = deployment
    ? `${deployment.deploymentId} on ${deployment.target.name}`
    : (target?.name ?? change.rollout?.name ?? '')
  const arrow = to === null ? '' : `${from === null || from === to ? '' : `${from} → `}${shown(terminal, to)}`
  const stalled = change.stalled === undefined ? '' : change.stalled ? 'stalled' : 'no longer stalled'
  const meant = change.targetManifestVersion ? `target version ${change.targetManifestVersion}` : ''
  const labels = change.toLabels && `labels: ${describeLabels(change.toLabels) || 'none'}`
  const what = [component, arrow || stalled || labels || kind, meant, change.reason ?? '', describeError(error ?? null)]
    .filter(Boolean)
    .join('  ')
  return `${momentOf(at)}  ${subject}  ${what}`
}

function shown(terminal: Terminal, state: string): string {
  const known = deploymentStates.find((name) => name === state)
  return known ? inStateColour(terminal, known, state) : state
}

/** UTC, and it says so. */
export function momentOf(at: string): string {
  return `${at.slice(0, 19).replace('T', ' ')}Z`
}
