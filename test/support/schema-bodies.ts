/** Bodies from JSON Schemas: those that a schema allows, and each with one fault. It knows the keywords that the schemas of bodies use. */
import fc from 'fast-check'

export interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly contains?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
}

/** `member`: as `components[].name`. */
export interface Fault {
  readonly member: string
  readonly fault: string
  readonly body: unknown
}

const anyText = '^[^\\u0000]*$'
const most = 40

/** `isWhole`: with each optional member, and with an element in each list. */
export function bodiesOf(root: Schema, isWhole = false): fc.Arbitrary<unknown> {
  const of = (given: Schema): fc.Arbitrary<unknown> => {
    const schema = resolve(root, given)
    if (schema.anyOf) return fc.oneof(...schema.anyOf.map(of))
    if ('const' in schema) return fc.constant(schema.const)
    if (schema.enum) return fc.constantFrom(...schema.enum)
    switch (schema.type) {
      case 'object':
        return schema.properties
          ? fc.record(mapValues(schema.properties, of), isWhole ? {} : { requiredKeys: [...(schema.required ?? [])] })
          : fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string(), { maxKeys: 2 })
      case 'array': {
        const lengths = { minLength: Math.max(schema.minItems ?? 0, isWhole ? 1 : 0), maxLength: 3 }
        const elements = fc.array(of(schema.items ?? {}), lengths)
        return schema.contains ? elements.map((list) => [...list, schema.contains?.const]) : elements
      }
      case 'integer':
        return fc.maxSafeInteger().map((n) => clamp(n, schema.minimum ?? 0, schema.maximum ?? Number.MAX_SAFE_INTEGER))
      case 'string':
        return textsOf(schema)
      default:
        return fc.oneof(fc.string(), fc.integer(), fc.boolean())
    }
  }
  return of(root)
}

function textsOf({ format, pattern = anyText, minLength = 0, maxLength = most }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString())
  const short = Math.min(maxLength, most)
  if (pattern === anyText) {
    const longest = fc.constant('é'.repeat(Math.min(maxLength, 256)))
    return fc.oneof({ weight: 9, arbitrary: fc.string({ unit: 'grapheme', minLength, maxLength: short }) }, longest)
  }
  return fc.stringMatching(new RegExp(pattern, 'u')).filter(({ length }) => length >= minLength && length <= maxLength)
}

/** Each fault that one member of the body can have. Not each makes it a body that the schema refuses. */
export function faultsOf(root: Schema, whole: unknown): readonly Fault[] {
  const within = (given: Schema, value: unknown, member: string, put: (value: unknown) => unknown): Fault[] => {
    const schema = resolve(root, given)
    const own = wrongValues(schema, value).map(([fault, wrong]) => ({ member, fault, body: put(wrong) }))
    if (Array.isArray(value))
      return [
        ...own,
        ...value
          .slice(0, 1)
          .flatMap((element, i) =>
            within(schema.items ?? {}, element, `${member}[]`, (wrong) => put(value.with(i, wrong))),
          ),
      ]
    if (!isObject(value)) return own
    return [
      ...own,
      ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
        if (!Object.hasOwn(value, name)) return []
        const path = member === '' ? name : `${member}.${name}`
        const isRequired = schema.required?.includes(name) ?? false
        const { [name]: _, ...rest } = value
        const unset = (fault: string, wrong: unknown) => ({ member: path, fault, body: put(wrong) })
        return [
          ...(isRequired ? [unset('absent', rest), unset('no value', { ...value, [name]: null })] : []),
          ...(isRequired ? [] : [unset('null', { ...value, [name]: null })]),
          ...within(inner, value[name], path, (wrong) => put({ ...value, [name]: wrong })),
        ]
      }),
    ]
  }
  return within(root, whole, '', (value) => value)
}

const otherTypes = { number: 7, boolean: true, list: [], object: {}, text: 'no such thing' }

function wrongValues(schema: Schema, value: unknown): readonly (readonly [fault: string, value: unknown])[] {
  const { anyOf = [schema], maxLength, maxItems } = schema
  const low = Math.min(...anyOf.map(({ minimum = Number.POSITIVE_INFINITY }) => minimum))
  return [
    ...Object.entries(otherTypes),
    ...(typeof value === 'string' && schema.enum
      ? [['case', value.toLowerCase() === value ? value.toUpperCase() : value.toLowerCase()] as const]
      : []),
    ...(schema.minLength === 1 ? [['empty', ''] as const] : []),
    ...(maxLength ? [['long', 'x'.repeat(maxLength + 1)] as const] : []),
    ...(schema.pattern ? [['NUL', 'a\0b'] as const, ['form', '??'] as const] : []),
    ...(Number.isFinite(low) ? [['low', low - 1] as const, ['fraction', low + 0.5] as const] : []),
    ...(schema.maximum && schema.maximum < 1e6 ? [['high', schema.maximum + 1] as const] : []),
    ...(maxItems && Array.isArray(value) ? [['many', Array(maxItems + 1).fill(value[0] ?? null)] as const] : []),
    ...(schema.contains && Array.isArray(value) ? [['without', ['no such thing']] as const] : []),
  ]
}

function resolve(root: Schema, { $ref, ...schema }: Schema): Schema {
  return $ref ? (root.$defs?.[$ref.split('/').at(-1) ?? ''] ?? {}) : schema
}

const clamp = (n: number, low: number, high: number): number => low + (Math.abs(n) % (high - low + 1))

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function mapValues<From, To>(from: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, map(value)]))
}
