/** What devices say of themselves, of any generation: tolerant of all that generations added or dropped, strict in what each of them asks for. */
import { DomainError } from '../../domain/errors.ts'
import { type Body, complain, isAbsent, isObject, type Problems, refusal, shown } from './problems.ts'
import { readId } from './text.ts'

const capabilityKinds = ['DeviceCapabilities', 'DeviceCapability', 'DeviceCapabilitiesManifest']
const identity = ['vendor', 'modelNumber', 'serialNumber'] as const
const lists = ['roles', 'cpu', 'cpus', 'peripherals', 'interfaces', 'supportedRuntimes', 'supportedDeploymentTypes']

export interface Capabilities {
  /** What its owner calls it; in the generations whose routes name it, what they do. */
  readonly id: string
  readonly vendor: string
  readonly modelNumber: string
  readonly serialNumber: string
}

/** `expected`: whose they must be; null: the path says nothing of it. Throws INVALID_REQUEST, or SEMANTIC_ERROR with all its problems. */
export function parseCapabilities(body: unknown, expected: string | null): Capabilities {
  const problems: Problems = { list: null }
  const document = requireObject(body, 'capabilities')
  checkKind(problems, document, capabilityKinds)
  const { properties } = document
  if (!isObject(properties)) {
    complain(problems, 'properties', `must be an object, but is ${shown(properties)}`)
    throw refusal(problems.list ?? [], 'What the device can run')
  }
  const id = readId(problems, 'properties.id', properties.id)
  if (id !== null && expected !== null && id !== expected)
    complain(problems, 'properties.id', `must be the path's deviceId, ${shown(expected)}, but is ${shown(id)}`)
  const [vendor, modelNumber, serialNumber] = identity.map((name) =>
    readId(problems, `properties.${name}`, properties[name]),
  )
  for (const name of lists)
    if (!isAbsent(properties[name]) && !Array.isArray(properties[name]))
      complain(problems, `properties.${name}`, `must be a list, but is ${shown(properties[name])}`)
  if (!isAbsent(properties.resources) && !isObject(properties.resources))
    complain(problems, 'properties.resources', `must be an object, but is ${shown(properties.resources)}`)
  if (!isAbsent(document.labels) && !isObject(document.labels))
    complain(problems, 'labels', `must be an object, but is ${shown(document.labels)}`)
  if (problems.list !== null || !id || !vendor || !modelNumber || !serialNumber)
    throw refusal(problems.list ?? [], 'What the device can run')
  return { id, vendor, modelNumber, serialNumber }
}

/** The certificate, as it was sent; null: there is none, as before there was one to send. */
export function parseOnboarding(body: unknown): string | null {
  const problems: Problems = { list: null }
  const document = requireObject(body, 'an onboarding')
  checkKind(problems, document, ['OnboardingRequest'])
  const { certificate } = document
  if (!isAbsent(certificate) && typeof certificate !== 'string')
    complain(problems, 'certificate', `must be a certificate (X.509) in base64, but is ${shown(certificate)}`)
  if (problems.list !== null) throw refusal(problems.list, 'The onboarding')
  return typeof certificate === 'string' ? certificate : null
}

function requireObject(body: unknown, what: string): Body {
  if (isObject(body)) return body
  throw new DomainError('INVALID_REQUEST', `The body of ${what} must be a JSON object, but is ${shown(body)}.`)
}

/** Only today's has none. */
function checkKind(problems: Problems, { kind }: Body, kinds: readonly string[]): void {
  if (!isAbsent(kind) && !kinds.includes(String(kind)))
    complain(problems, 'kind', `must be ${kinds.join(' or ')}, but is ${shown(kind)}`)
}
