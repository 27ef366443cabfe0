/** How a report deviates from Margo's specification. It shows an integrator which sentence an agent breaks. Only an unknown kind is refused. */
import type { Deviation, DeviationKind } from '../../../domain/deviation.ts'
import type { FieldProblem } from '../../../domain/errors.ts'
import { failureStage as stageOf } from '../../../domain/failure-stage.ts'
import type { StatusReport, Warning } from '../../../domain/report.ts'
import { isConsistent } from '../../../domain/rollup.ts'

/** By kind, what deviates: the sentence of the specification ("Deployment Status", "Workload Deployment") that the report breaks. */
export const deviationSentences: Readonly<Record<DeviationKind, string>> = {
  FAILED_WITHOUT_ERROR: 'Deployment Status: a failed deployment or component has an error with a code and a message.',
  PENDING_WITHOUT_REASON: 'Workload Deployment: "When reporting this state [Pending] indicate the reason."',
  INCONSISTENT_STATE:
    'Deployment Status: "The overall deployment status MUST inherit the current component\'s status until it has gone through installing each component."',
  DEPLOYMENT_ID_NOT_UUID:
    'Deployment Status: deploymentId is "the unique identifier UUID of the deployment specification", in small letters (RFC 9562).',
  ID_LOOKS_LIKE_ANOTHER:
    'No report: the device ID looks like that of a device that was known before. They differ in case, in forms of one accented letter, in spaces, or in characters without a glyph.',
  UNKNOWN_KIND: 'Deployment Status: kind is DeploymentStatusManifest. A report of any other kind is refused.',
  TEXT_ALTERED:
    'Deployment Status: code, message and source are strings. One that cannot be stored as it is, is kept as far as it can be.',
  PART_NOT_UNDERSTOOD:
    'Deployment Status: a component has a name of its own and one of the states. One that was not understood stays as it was.',
  FORMER_FIELD_NAME:
    'Onboarding: the certificate of a client is the field certificate. Its name public_certificate is that of earlier drafts.',
}

/** In one form only. So of two IDs that look the same, at least one is a deviation. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const longestExample = 200

/** At most one of each kind. */
export function deviationsOf(report: StatusReport): readonly Deviation[] {
  const { state, error, components, deploymentId, failureStage, warnings = [] } = report
  const found: Deviation[] = []
  const note = (kind: DeviationKind, said: string): void => void found.push({ kind, example: shorten(said) })
  const isWithoutError = (part: Pick<StatusReport, 'state' | 'error'>): boolean =>
    part.state === 'FAILED' && isIncomplete(part.error)
  const failed = components.find(isWithoutError)
  if (isWithoutError(report)) note('FAILED_WITHOUT_ERROR', `deployment ${deploymentId}: FAILED`)
  else if (failed) note('FAILED_WITHOUT_ERROR', `deployment ${deploymentId}: component ${failed.name} FAILED`)
  if (state === 'PENDING' && error === null) note('PENDING_WITHOUT_REASON', `deployment ${deploymentId}: PENDING`)
  // A failure before or after the components is none of theirs, whether the report names its stage or its components imply it.
  if (!isConsistent(state, components, stageOf(state, failureStage ?? null, components, null))) {
    const parts = components.slice(0, longestExample).map((part) => `${part.name} ${part.state}`)
    note('INCONSISTENT_STATE', `deployment ${deploymentId}: ${state}, components: ${parts.join(', ')}`)
  }
  if (!uuid.test(deploymentId)) note('DEPLOYMENT_ID_NOT_UUID', `deploymentId: ${deploymentId}`)
  return [...found, ...deviationsOfWarnings(`deployment ${deploymentId}`, warnings)]
}

/** The first of each kind. */
export function deviationsOfWarnings(subject: string, warnings: readonly Warning[]): readonly Deviation[] {
  const firsts = warnings.filter(({ kind }, i) => warnings.findIndex((one) => one.kind === kind) === i)
  return firsts.map(({ kind, field, message }) => ({ kind, example: shorten(`${subject}: ${field} ${message}`) }))
}

/** The deviations of a refused report, from its problems. */
export function deviationsOfRefusal(problems: readonly FieldProblem[]): readonly Deviation[] {
  const kind = problems.find(({ field }) => field === 'kind')
  return kind ? [{ kind: 'UNKNOWN_KIND', example: shorten(`kind ${kind.message}`) }] : []
}

/** Cuts between characters: half a surrogate pair cannot be stored. */
function shorten(text: string): string {
  return text.length <= longestExample ? text : `${text.slice(0, longestExample - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

function isIncomplete(error: StatusReport['error']): boolean {
  return error === null || error.code === '' || error.message === ''
}
