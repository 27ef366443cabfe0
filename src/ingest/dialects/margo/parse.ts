/**
 * Turns a status body of any generation into a StatusReport (docs/wire.md §1.2). It decides nothing. A refusal names every invalid field at once.
 *
 *   2024-05  the first proposal: metadata {name, uniqueId}, deploymentInformation {status}, no components
 *   2024-06  the second proposal: metadata {deploymentId, timeStamp}, components inside status
 *   2024-09  kind DeploymentStatus: deploymentId, status, components at the top
 *   2025-10  kind DeploymentStatusManifest; deviceId "gateway/child" and an error's source with the gateways
 *   1.0      no kind, or an adoptedManifestVersion: the form since 1.0.0-rc.3
 *
 * The generations differ so little that one reader accepts them all, on any route, because agents mix them.
 */
import { DomainError } from '../../../domain/errors.ts'
import { anonymous, type ComponentReport, type StatusReport, type UnreadComponent } from '../../../domain/report.ts'
import { gatewayOf } from '../../../domain/target.ts'
import type { DeploymentState, StatusError } from '../../../domain/values.ts'
import { parseLargeJson } from '../../../platform/body/json.ts'
import { type Body, complain, isAbsent, isObject, type Problems, shown } from '../../../platform/body/problems.ts'
import { readId } from '../../../platform/body/text.ts'
import { decodeDamaged, withoutMark } from '../../../platform/body/utf8.ts'
import { paced } from '../../../platform/limits/pace.ts'
import type { ReportRoute } from '../devices.ts'
import { readComponents } from './components.ts'
import { readTargetName } from './device-id.ts'
import { keepSmall, readError } from './error.ts'
import { readAdoptedManifestVersion, readRunMarks } from './marks.ts'
import { newReading, type Reading, refusalOf, warnOfBytes } from './reading.ts'
import { readState, stateProblem } from './state.ts'
import { readYaml } from './yaml.ts'

const yamlTypes: readonly string[] = ['application/yaml', 'application/x-yaml', 'text/yaml']

/**
 * Throws INVALID_REQUEST if the body is not an object, and SEMANTIC_ERROR with all problems if it is not a report. `isUtf8`: whether its bytes
 * were.
 */
export function parseMargoBody(body: unknown, route: ReportRoute, isUtf8 = true): StatusReport {
  const problems = newReading(isUtf8)
  const report = readReport(problems, requireObject(body), route)
  if (report === null) throw refusalOf(problems)
  return report
}

export function requireObject(body: unknown): Body {
  if (isObject(body)) return body
  throw new DomainError('INVALID_REQUEST', `A status report must be an object, but is ${shown(body)}.`)
}

/** The proposals' examples are YAML. */
export const reportMediaTypes: readonly string[] = ['application/json', ...yamlTypes]

/** Bytes. Reading YAML is slow. A report with a thousand components has some 40,000. */
const largestYaml = 64 << 10
/** One of a thousand components with an error each has some 40,000. */
const mostYamlTokens = 50_000

/** Parses the body by its media type. Throws INVALID_REQUEST or TOO_LARGE. */
export async function parseReportText(body: Uint8Array, contentType: string | undefined): Promise<unknown> {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!yamlTypes.includes(mediaType)) return parseLargeJson(body, {})
  if (body.length > largestYaml)
    throw new DomainError('TOO_LARGE', `A report in YAML may have at most ${largestYaml} bytes: send JSON.`)
  const problems: Problems = { list: null }
  const text = withoutMark(decodeDamaged(body))
  const document = await paced(readYaml(problems, text, { intAsBigInt: true, mostTokens: mostYamlTokens }))
  if (problems.list === null) return document
  const named = problems.list.slice(0, 3).map(({ field, message }) => `${field} ${message}`.trim())
  throw new DomainError('INVALID_REQUEST', `The text ${named.join('; ')}.`)
}

/** Null: there are problems, including earlier ones. */
export function readReport(problems: Reading, body: Body, route: ReportRoute): StatusReport | null {
  const proposal = proposalOf(body)
  checkKind(problems, body.kind, proposal)
  const deploymentId = readDeploymentId(problems, body, proposal, route.deploymentId)
  const deviceId = readTargetName(problems, body)
  const adoptedManifestVersion = readAdoptedManifestVersion(problems, body, route.requiresVersion)

  const { state, error, components, unread } =
    proposal === 'first' ? readInformation(problems, body.deploymentInformation) : readWhole(problems, body, proposal)
  const { boot, seq, observedAt, details } = readRunMarks(problems, body)
  warnOfBytes(problems)

  if (problems.list !== null || deploymentId === null || state === null) return null
  const reporter = route.reporter ?? (deviceId === null ? anonymous : gatewayOf(deviceId))
  const dialect = dialectOf(body, proposal)
  return {
    reporter,
    deploymentId,
    deviceId,
    state,
    error,
    ...details,
    components,
    ...(unread.length > 0 && { unread }),
    ...(problems.warnings && { warnings: problems.warnings }),
    adoptedManifestVersion,
    seq,
    boot,
    observedAt,
    dialect,
  }
}

/** A failure without an error breaks the specification (its Error fields). The report is stored all the same, and counted in a metric. */
export function nonConforming(report: StatusReport): boolean {
  return hasNoReason(report) || report.components.some(hasNoReason)
}

function hasNoReason(part: Pick<StatusReport, 'state' | 'error'>): boolean {
  return part.state === 'FAILED' && part.error === null
}

interface ReportedStatus {
  /** Null: there are problems. */
  readonly state: DeploymentState | null
  readonly error: StatusError | null
  readonly components: readonly ComponentReport[]
  readonly unread: readonly UnreadComponent[]
}

function readWhole(problems: Reading, body: Body, proposal: Proposal | null): ReportedStatus {
  const where = Array.isArray(body.status) ? 'status[0]' : 'status'
  const status = readStatus(problems, body.status)
  const state = status === null ? null : readState(status.state)
  if (status !== null && state === null) complain(problems, `${where}.state`, stateProblem(status.state))
  const error = status === null ? null : readError(problems, `${where}.error`, status.error)
  const isNested = proposal !== null && body.components === undefined
  const list = isNested ? `${where}.components` : 'components'
  // Without a status it is unknown whether the components are missing too.
  const { components, unread } =
    isNested && status === null
      ? { components: [], unread: [] }
      : readComponents(problems, list, isNested ? status?.components : body.components)
  const [own = null, ...errors] = keepSmall(problems, [error, ...components.map((part) => part.error)], (i) =>
    i === 0 ? [`${where}.error`, 'the error of the deployment'] : [list, components[i - 1]?.name ?? ''],
  )
  return { state, error: own, components: components.map((part, i) => withError(part, errors[i] ?? null)), unread }
}

function withError(component: ComponentReport, error: StatusError | null): ComponentReport {
  return component.error === error ? component : { ...component, error }
}

/** The first proposal has one word of status and no components. */
function readInformation(problems: Problems, information: unknown): ReportedStatus {
  const word = isObject(information) ? information.status : undefined
  const state = readState(word)
  if (state === null) complain(problems, 'deploymentInformation.status', stateProblem(word))
  return { state, error: null, components: [], unread: [] }
}

type Proposal = 'first' | 'second'

/**
 * Tolerance: the proposals of 2024 name the deployment in their metadata. The first proposal has one word of status; the second has the
 * components inside the status.
 */
function proposalOf(body: Body): Proposal | null {
  if (!isAbsent(body.deploymentId)) return null
  if (body.kind === firstKind || isObject(body.deploymentInformation)) return 'first'
  return isObject(body.metadata) && body.metadata.deploymentId !== undefined ? 'second' : null
}

const firstKind = 'Margo Deployment Status'

function checkKind(problems: Problems, kind: unknown, proposal: Proposal | null): void {
  if (isAbsent(kind) || kind === 'DeploymentStatus' || kind === 'DeploymentStatusManifest') return
  if (proposal === 'first' && kind === firstKind) return
  complain(problems, 'kind', `must be DeploymentStatus or DeploymentStatusManifest, or absent, but is ${shown(kind)}`)
}

function readDeploymentId(
  problems: Problems,
  body: Body,
  proposal: Proposal | null,
  expected: string | null,
): string | null {
  const metadata = proposal && isObject(body.metadata) ? body.metadata : {}
  const key = proposal === 'first' ? 'uniqueId' : 'deploymentId'
  const field = proposal ? `metadata.${key}` : key
  // The proposal's example and its table spell the key differently.
  const value = proposal ? (metadata[key] ?? (proposal === 'first' ? metadata.uniqueID : undefined)) : body.deploymentId
  if (value === expected && expected !== null) return expected
  const deploymentId = readId(problems, field, value)
  if (deploymentId !== null && expected !== null)
    complain(problems, field, `must be ${shown(expected)}, as in the path or topic, but is ${shown(deploymentId)}`)
  return deploymentId
}

/** Tolerance: the tables of 2024 and 2025 say "[]status", so a list with one element is accepted for the object of every example. */
function readStatus(problems: Problems, value: unknown): Body | null {
  const status = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (isObject(status)) return status
  complain(problems, 'status', `must be an object with state, or a list of exactly one, but is ${shown(value)}`)
  return null
}

/** The generation of the body, for metrics and for `Report.dialect`. It decides nothing. */
export const margoDialects = ['margo/2024-05', 'margo/2024-06', 'margo/2024-09', 'margo/2025-10', 'margo/1.0'] as const

function dialectOf(body: Body, proposal: Proposal | null): (typeof margoDialects)[number] {
  if (proposal) return proposal === 'first' ? 'margo/2024-05' : 'margo/2024-06'
  if (isAbsent(body.kind) || !isAbsent(body.adoptedManifestVersion)) return 'margo/1.0'
  return body.kind === 'DeploymentStatus' ? 'margo/2024-09' : 'margo/2025-10'
}
