/** Reads capabilities and onboarding requests of any generation. Fields that a generation added or dropped are optional; fields that every generation requires are checked. */
import type { Deviation } from '../../../domain/deviation.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Warning } from '../../../domain/report.ts'
import type { Label } from '../../../domain/target.ts'
import {
  type Body,
  complain,
  isAbsent,
  isObject,
  type Problems,
  refusal,
  shown,
} from '../../../platform/body/problems.ts'
import { deviceIdProblem, idProblem, longestId, readId, textProblem } from '../../../platform/body/text.ts'
import { deviationsOfWarnings } from './deviations.ts'
import { newReading, type Reading, refusalOf, warn, warnOfBytes } from './reading.ts'

const clusterKind = 'ClusterCapabilitiesManifest'
const capabilityKinds = ['DeviceCapabilities', 'DeviceCapability', 'DeviceCapabilitiesManifest', clusterKind]
const identityFields = ['vendor', 'modelNumber', 'serialNumber'] as const
const lists = ['roles', 'cpu', 'cpus', 'peripherals', 'interfaces', 'supportedRuntimes', 'supportedDeploymentTypes']

/** The runtimes of the specification (SupportedRuntime). */
const runtimes: readonly unknown[] = ['oci']

interface Capabilities {
  /** The ID of the device or cluster. In the generations whose routes name it, the body must repeat it. */
  readonly id: string
  readonly labels: readonly Label[]
  /** What was taken otherwise than sent. */
  readonly warnings: readonly Warning[]
  readonly deviations: readonly Deviation[]
}

/**
 * `expected`: the ID that the body must have. Null: the path names none. `isUtf8`: whether its bytes were. Throws INVALID_REQUEST, or
 * SEMANTIC_ERROR with all problems.
 */
export function parseCapabilities(body: unknown, expected: string | null, isUtf8 = true): Capabilities {
  const problems = newReading(isUtf8)
  const document = requireObject(body, 'capabilities')
  checkKind(problems, document, capabilityKinds)
  if (document.kind === clusterKind) return readCluster(problems, document, expected)
  const { properties } = document
  if (!isObject(properties)) {
    complain(problems, 'properties', `must be an object, but is ${shown(properties)}`)
    throw refusalOf(problems, 'What the device can run')
  }
  const id = readOwnId(problems, 'properties', properties, expected)
  for (const name of identityFields) {
    const problem = idProblem(properties[name])
    if (problem !== null) warn(problems, 'PART_NOT_UNDERSTOOD', `properties.${name}`, problem)
  }
  for (const name of lists)
    if (!isAbsent(properties[name]) && !Array.isArray(properties[name]))
      complain(problems, `properties.${name}`, `must be a list, but is ${shown(properties[name])}`)
  if (!isAbsent(properties.resources) && !isObject(properties.resources))
    complain(problems, 'properties.resources', `must be an object, but is ${shown(properties.resources)}`)
  const { supportedRuntimes } = properties
  if (Array.isArray(supportedRuntimes) && !supportedRuntimes.some((runtime) => runtimes.includes(runtime)))
    complain(problems, 'properties.supportedRuntimes', `must have at least one of ${runtimes.join(', ')}`)
  const labels = readLabels(problems, document.labels)
  if (problems.list !== null || !id) throw refusalOf(problems, 'What the device can run')
  return described(problems, id, labels)
}

/** A cluster behind a device has a document of another kind, which is stored unchanged. */
function readCluster(problems: Reading, { metadata, labels: given }: Body, expected: string | null): Capabilities {
  if (!isObject(metadata)) complain(problems, 'metadata', `must be an object, but is ${shown(metadata)}`)
  const id = isObject(metadata) ? readOwnId(problems, 'metadata', metadata, expected) : null
  const labels = readLabels(problems, given)
  if (problems.list !== null || !id) throw refusalOf(problems, 'What the cluster can run')
  return described(problems, id, labels)
}

function described(reading: Reading, id: string, labels: readonly Label[]): Capabilities {
  warnOfBytes(reading)
  const { warnings } = reading
  return {
    id,
    labels,
    warnings: warnings ?? [],
    deviations: deviationsOfWarnings(`capabilities of ${id}`, warnings ?? []),
  }
}

/** The specification renames `id` to `targetName`. Either may be sent. */
function readOwnId(problems: Problems, where: string, holder: Body, expected: string | null): string | null {
  const ids = ['id', 'targetName'].filter((name) => !isAbsent(holder[name]))
  const [id = null] = (ids.length === 0 ? ['id'] : ids).map((name) => {
    const field = `${where}.${name}`
    const own = readId(problems, field, holder[name], deviceIdProblem)
    const wanted = expected ?? (name === 'targetName' && ids.length > 1 ? holder.id : own)
    if (own !== null && own !== wanted)
      complain(
        problems,
        field,
        `must be ${expected === null ? 'the id' : "the path's deviceId"}, ${shown(wanted)}, but is ${shown(own)}`,
      )
    return own
  })
  return id
}

const mostLabels = 100

/** The device's own labels. A value that is not a string is not a label, and stays only in the document. */
function readLabels(problems: Reading, given: unknown): readonly Label[] {
  if (isAbsent(given)) return []
  if (!isObject(given)) {
    complain(problems, 'labels', `must be an object, but is ${shown(given)}`)
    return []
  }
  const labels = Object.entries(given).flatMap(([key, value]) =>
    typeof value === 'string' && idProblem(key) === null && textProblem(value, longestId) === null
      ? [{ key, value }]
      : [],
  )
  if (labels.length > mostLabels)
    warn(
      problems,
      'PART_NOT_UNDERSTOOD',
      'labels',
      `must have at most ${mostLabels} entries, but has ${labels.length}: the first are taken`,
    )
  return labels.slice(0, mostLabels)
}

/** The certificate as sent. Null: there is none, as in the earliest generation. Tolerance: `public_certificate`, its name in the OpenAPI document until 2026. */
export function parseOnboarding(body: unknown): Onboarding {
  const problems: Problems = { list: null }
  const document = requireObject(body, 'an onboarding')
  checkKind(problems, document, ['OnboardingRequest'])
  const isFormer = isAbsent(document.certificate) && !isAbsent(document.public_certificate)
  const field = isFormer ? 'public_certificate' : 'certificate'
  const certificate = document[field]
  if (!isAbsent(certificate) && typeof certificate !== 'string')
    complain(problems, field, `must be a certificate (X.509) in base64, but is ${shown(certificate)}`)
  if (problems.list !== null) throw refusal(problems.list, 'The onboarding')
  const former: Deviation = { kind: 'FORMER_FIELD_NAME', example: 'onboarding: public_certificate' }
  return { certificate: typeof certificate === 'string' ? certificate : null, deviations: isFormer ? [former] : [] }
}

interface Onboarding {
  readonly certificate: string | null
  readonly deviations: readonly Deviation[]
}

function requireObject(body: unknown, what: string): Body {
  if (isObject(body)) return body
  throw new DomainError('INVALID_REQUEST', `The body of ${what} must be a JSON object, but is ${shown(body)}.`)
}

/** Only today's generation has no kind. */
function checkKind(problems: Problems, { kind }: Body, kinds: readonly string[]): void {
  if (!isAbsent(kind) && !kinds.includes(String(kind)))
    complain(problems, 'kind', `must be ${kinds.join(' or ')}, but is ${shown(kind)}`)
}
