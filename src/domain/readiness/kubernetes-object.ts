/**
 * Reads an untrusted object. Objects come from old and new agents and from hand-written blocks, so every accessor accepts every
 * input. A value of the wrong type counts as absent. Kubernetes also omits zeros, so absent means zero where it says so.
 */

export type Fields = Readonly<Record<string, unknown>>

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export interface KubernetesObject {
  /** Empty when the object does not say. */
  readonly kind: string
  /** '' is the core group. Null: the object has no apiVersion, as in a bare status block. */
  readonly group: string | null
  readonly metadata: Fields
  readonly spec: Fields
  readonly status: Fields
  readonly conditions: readonly Condition[]
  /** The first malformed field that every engine reads. Null: none. */
  readonly malformed: string | null
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fields = (value: unknown): Fields => (isFields(value) ? value : {})

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')

export const items = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** A number, or undefined. For fields whose absence does not mean zero. */
export const optionalNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

/** A number. Absence means zero (`omitempty` in the Kubernetes API). */
export const count = (value: unknown): number => optionalNumber(value) ?? 0

export const conditionsOf = (value: unknown): readonly Condition[] =>
  items(value).map((item) => ({
    type: text(item.type),
    status: text(item.status),
    reason: text(item.reason),
    message: text(item.message),
  }))

export const conditionOf = (object: KubernetesObject, type: string): Condition | undefined =>
  object.conditions.find((condition) => condition.type === type)

export const trueCondition = (object: KubernetesObject, type: string): Condition | undefined =>
  object.conditions.find((condition) => condition.type === type && condition.status === 'True')

export const annotationsOf = (object: KubernetesObject): Fields => fields(object.metadata.annotations)

/** Null: the value is not an object. */
export const parseKubernetesObject = (value: unknown): KubernetesObject | null => {
  if (!isFields(value)) return null
  const status = fields(value.status)
  const metadata = fields(value.metadata)
  return {
    kind: text(value.kind),
    group: groupOf(value.apiVersion),
    metadata,
    spec: validSpec(fields(value.spec), metadata, status),
    status,
    conditions: conditionsOf(status.conditions),
    malformed: malformation(value, status),
  }
}

/**
 * EMCO's monitor refreshes only the status of an object that it knows. If the status is of a later generation, what users and autoscalers
 * change in a spec is unknown: a Deployment that was scaled would be PENDING for ever.
 */
const validSpec = (spec: Fields, { generation }: Fields, { observedGeneration }: Fields): Fields => {
  if ((optionalNumber(observedGeneration) ?? 0) <= (optionalNumber(generation) ?? Number.POSITIVE_INFINITY)) return spec
  const { replicas, paused, ...rest } = spec
  return rest
}

const groupOf = (apiVersion: unknown): string | null => {
  const whole = text(apiVersion)
  if (whole === '') return null
  const slash = whole.indexOf('/')
  return slash < 0 ? '' : whole.slice(0, slash)
}

const absent = (value: unknown): boolean => value === undefined || value === null

const malformation = (object: Fields, status: Fields): string | null => {
  for (const name of ['metadata', 'spec', 'status'])
    if (!absent(object[name]) && !isFields(object[name])) return `${name} is not an object`
  if (!absent(status.conditions) && !Array.isArray(status.conditions)) return 'status.conditions is not a list'
  return null
}
