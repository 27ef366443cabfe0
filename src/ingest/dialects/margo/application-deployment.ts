/** Reads a Margo ApplicationDeployment of any generation, in YAML or JSON. */
import type { FieldProblem } from '../../../domain/errors.ts'
import { type Body, complain, isAbsent, isObject, type Problems, shown } from '../../../platform/body/problems.ts'
import { idProblem } from '../../../platform/body/text.ts'
import type { Paced } from '../../../platform/limits/pace.ts'
import { join, readYaml } from './yaml.ts'

export const largestDocument = 256 * 1024
const mostComponents = 1000
const mostProblems = 100

export interface ApplicationDeployment {
  readonly problems: null
  /** The application's ID in the catalogue. Null: the document has none. */
  readonly application: string | null
  /** In installation order. */
  readonly components: readonly string[]
}

/** Problems by path into the document. The document itself has the empty path. A message continues the sentence that its field begins. */
export interface RefusedDocument {
  readonly problems: readonly FieldProblem[]
}

/** The deployment and the device that the document is declared for. */
interface Expected {
  readonly deploymentId: string
  readonly deviceId: string
}

/**
 * Parses the text once, because parsing is nearly all of the work, and then checks it for each declaration. The ids in the document
 * must be those of the declaration. Fields that differ between generations are optional, and unknown fields are ignored. The device
 * receives the text unchanged.
 */
export function* parseApplicationDeployment(
  text: string,
): Paced<(expected: Expected) => ApplicationDeployment | RefusedDocument> {
  const ofText: Problems = { list: null }
  const parsed = yield* readText(ofText, text)
  return (expected) => {
    const problems: Problems = { list: ofText.list && [...ofText.list] }
    const document = isObject(parsed) ? readDocument(problems, parsed, expected) : null
    if (document !== null && problems.list === null) return document
    if (problems.list === null) complain(problems, '', `must be an ApplicationDeployment, but is ${shown(parsed)}`)
    return { problems: (problems.list ?? []).slice(0, mostProblems) }
  }
}

function* readText(problems: Problems, text: string): Paced<unknown> {
  const size = Buffer.byteLength(text)
  if (size > largestDocument) complain(problems, '', `must have at most ${largestDocument} bytes, but has ${size}`)
  else if (text.includes('\0')) complain(problems, '', 'must not contain the character NUL (U+0000)')
  else if (!text.isWellFormed())
    complain(problems, '', 'must not contain half of a surrogate pair, which is no character')
  else return yield* readYaml(problems, text)
  return undefined
}

function readDocument(problems: Problems, document: Body, expected: Expected): ApplicationDeployment {
  if (!isAbsent(document.kind) && document.kind !== 'ApplicationDeployment')
    complain(problems, 'kind', `must be ApplicationDeployment, but is ${shown(document.kind)}`)
  if (!isAbsent(document.apiVersion) && typeof document.apiVersion !== 'string')
    complain(problems, 'apiVersion', `must be a string, but is ${shown(document.apiVersion)}`)
  const metadata = readMapping(problems, 'metadata', document.metadata, false)
  const annotations = readMapping(problems, 'metadata.annotations', metadata?.annotations, false)
  const spec = readMapping(problems, 'spec', document.spec, true)

  const is = (field: string, value: unknown, wanted: string, what: string): void => {
    if (!isAbsent(value) && value !== wanted)
      complain(problems, field, `must be ${shown(wanted)}, the ${what} that it is declared for, but is ${shown(value)}`)
  }
  is('id', document.id, expected.deploymentId, 'deploymentId')
  is('metadata.annotations.id', annotations?.id, expected.deploymentId, 'deploymentId')
  for (const name of ['deviceId', 'targetName'])
    if (!isPlacedBy(metadata?.[name], expected.deviceId))
      is(`metadata.${name}`, metadata?.[name], expected.deviceId, 'deviceId')

  const older = readOptionalId(problems, 'metadata.annotations.applicationId', annotations?.applicationId)
  const newer = readOptionalId(problems, 'spec.applicationId', spec?.applicationId)
  if (older !== null && newer !== null && older !== newer)
    complain(
      problems,
      'spec.applicationId',
      `must be that of metadata.annotations, ${shown(older)}, but is ${shown(newer)}`,
    )
  const components = spec === null ? [] : readProfile(problems, spec)
  if (spec !== null) checkParameters(problems, spec.parameters, components)
  return { problems: null, application: newer ?? older, components: components.filter((name) => name !== null) }
}

/** With `gateway/*` the gateway chooses the child that the deployment runs on. */
function isPlacedBy(value: unknown, deviceId: string): boolean {
  if (typeof value !== 'string' || !value.endsWith('/*')) return false
  const gateway = value.slice(0, -2)
  return deviceId === gateway || deviceId.startsWith(`${gateway}/`)
}

/** Names by position. Null: the name is invalid. */
function readProfile(problems: Problems, spec: Body): readonly (string | null)[] {
  const where = 'spec.deploymentProfile'
  const profile = readMapping(problems, where, spec.deploymentProfile, true)
  if (profile === null) return []
  // helm.v3, helm, compose, docker-compose, and the names of vendors' own runtimes.
  checkId(problems, `${where}.type`, profile.type)
  const list = profile.components
  if (!Array.isArray(list) || list.length === 0 || list.length > mostComponents) {
    const held = Array.isArray(list) ? `has ${list.length}` : `is ${shown(list)}`
    complain(problems, `${where}.components`, `must be a list of 1 to ${mostComponents} components, but ${held}`)
    return []
  }
  const seen = new Map<unknown, number>()
  return list.map((item: unknown, index) => {
    const field = `${where}.components[${index}]`
    const component = readMapping(problems, field, item, true)
    if (component === null || !checkId(problems, `${field}.name`, component.name)) return null
    const first = seen.get(component.name)
    if (first === undefined) seen.set(component.name, index)
    else complain(problems, `${field}.name`, `must not be repeated, but is that of components[${first}] too`)
    return String(component.name)
  })
}

/**
 * Checks that each parameter has targets; the device checks its value. A list that YAML repeats by an alias is checked once, because
 * a small text could otherwise repeat it very often.
 */
function checkParameters(problems: Problems, given: unknown, components: readonly (string | null)[]): void {
  const known = new Set<unknown>(components)
  const [targets, names] = [listsOf(problems), listsOf(problems)]
  const parameters = readMapping(problems, 'spec.parameters', given, false) ?? {}
  for (const [name, item] of Object.entries(parameters)) {
    const where = join('spec.parameters', name)
    const parameter = readMapping(problems, where, item, true)
    for (const [target, at] of targets(`${where}.targets`, parameter?.targets)) {
      const named = readMapping(problems, at, target, true)
      if (named !== null && (typeof named.pointer !== 'string' || named.pointer === ''))
        complain(problems, `${at}.pointer`, `must be a string that is not empty, but is ${shown(named.pointer)}`)
      for (const [component, field] of names(`${at}.components`, named?.components))
        if (components.length > 0 && !known.has(component))
          complain(
            problems,
            field,
            `must be the name of one of the deploymentProfile's components, but is ${shown(component)}`,
          )
    }
  }
}

/** The elements of a list with their paths, for each list once. */
function listsOf(problems: Problems) {
  const seen = new Set<unknown>()
  return function* (where: string, value: unknown): Generator<readonly [unknown, string]> {
    if (isAbsent(value) || seen.has(value)) return
    if (!Array.isArray(value)) return complain(problems, where, `must be a list, but is ${shown(value)}`)
    seen.add(value)
    for (const [index, item] of value.entries()) yield [item, `${where}[${index}]`]
  }
}

function readMapping(problems: Problems, where: string, value: unknown, isRequired: boolean): Body | null {
  if (isObject(value)) return value
  if (isRequired || !isAbsent(value)) complain(problems, where, `must be a mapping, but is ${shown(value)}`)
  return null
}

function readOptionalId(problems: Problems, where: string, value: unknown): string | null {
  return !isAbsent(value) && checkId(problems, where, value) ? String(value) : null
}

function checkId(problems: Problems, where: string, value: unknown): boolean {
  const problem = idProblem(value)
  if (problem !== null) complain(problems, where, problem)
  return problem === null
}
