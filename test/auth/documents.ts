/** For every field of the schema a document that selects it, by the shortest way from a root. */
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  isUnionType,
} from 'graphql'

export interface Selected {
  /** `Type.field` */
  readonly name: string
  readonly operation: 'query' | 'mutation' | 'subscription'
  readonly document: string
}

interface Way {
  readonly operation: Selected['operation']
  readonly path: readonly string[]
}

/** The value of an argument, in the words of a document. `field`: `Type.field`. Null: an example. */
export type ValueFor = (field: string, argument: string) => string | null

/** Fields that cannot be reached are absent. */
export function selectEach(schema: GraphQLSchema, valueFor: ValueFor = () => null): Selected[] {
  const ways = new Map<string, Way>()
  const queue: [GraphQLNamedType, Way][] = []
  const reach = (type: GraphQLNamedType, way: Way): void => {
    if (ways.has(type.name) || isLeafType(type)) return
    ways.set(type.name, way)
    queue.push([type, way])
  }
  const roots = [
    ['query', schema.getQueryType()],
    ['subscription', schema.getSubscriptionType()],
    ['mutation', schema.getMutationType()],
  ] as const
  for (const [operation, type] of roots) if (type) reach(type, { operation, path: [] })
  const selected: Selected[] = []
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [type, { operation, path }] = next
    for (const concrete of isUnionType(type) || isInterfaceType(type) ? schema.getPossibleTypes(type) : [])
      reach(concrete, { operation, path: [...path, `... on ${concrete.name}`] })
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const from of type.getInterfaces()) reach(from, { operation, path: [...path, `... on ${from.name}`] })
    for (const field of Object.values(type.getFields())) {
      const step = `${field.name}${argumentsOf(field, (argument) => valueFor(`${type.name}.${field.name}`, argument))}`
      const inner = getNamedType(field.type)
      const document = nest(operation, [...path, step], isLeafType(inner) ? '' : '{ __typename }')
      selected.push({ name: `${type.name}.${field.name}`, operation, document })
      reach(inner, { operation, path: [...path, step] })
    }
  }
  return selected
}

function nest(operation: string, path: readonly string[], inner: string): string {
  return `${operation} ${path.reduceRight((selection, step) => `{ ${step} ${selection} }`, inner)}`
}

/** The same queries in fewer documents, of so many each. */
export function joinQueries(some: readonly Selected[], size: number): string[] {
  const fields = some.map(({ document }, index) => `_${index}: ${document.slice('query { '.length, -' }'.length)}`)
  const starts = Array.from({ length: Math.ceil(fields.length / size) }, (_, index) => index * size)
  return starts.map((start) => `query { ${fields.slice(start, start + size).join(' ')} }`)
}

/** Pages are short, so that a deep one is cheap. */
function argumentsOf({ args }: GraphQLField<unknown, unknown>, valueFor: (argument: string) => string | null): string {
  const given = args.flatMap((argument) => {
    const value = valueFor(argument.name)
    if (value !== null) return [`${argument.name}: ${value}`]
    if (argument.name === 'first') return ['first: 1']
    return isRequiredArgument(argument) || isChoice(argument, args)
      ? [`${argument.name}: ${exampleOf(argument.type)}`]
      : []
  })
  return given.length > 0 ? `(${given.join(', ')})` : ''
}

/** Where one of two names something, as in rollout(id, key). */
function isChoice({ name }: GraphQLArgument, args: readonly GraphQLArgument[]): boolean {
  return name === 'key' && args.some((other) => other.name === 'id')
}

function exampleOf(type: GraphQLInputType): string {
  if (isNonNullType(type)) return exampleOf(type.ofType)
  if (isListType(type)) return `[${exampleOf(type.ofType)}]`
  if (isEnumType(type)) return type.getValues()[0]?.name ?? 'null'
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields()).filter(isRequiredInputField)
    return `{ ${fields.map((field) => `${field.name}: ${exampleOf(field.type)}`).join(', ')} }`
  }
  const values: Record<string, string> = { Int: '1', Float: '1', Boolean: 'true', Revision: '"1"', JSON: '{}' }
  return values[type.name] ?? (type.name === 'DateTime' ? '"2026-01-01T00:00:00Z"' : '"x"')
}
