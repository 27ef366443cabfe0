/** Documents from the schema: each list field, beside each kind of field that fails. A failure ends the operation while the list is still being read. */
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { encodeNodeId } from '../../src/api/graphql/objects/node.ts'
import { schema } from '../../src/api/graphql/schema.ts'

type Field = GraphQLField<unknown, unknown>

/** Of a time before all that is retained: to read it fails. */
const expired = encodeNodeId('Deployment', 1, 1)
const present = encodeNodeId('Deployment', 1, null)

/** Each fails in another way, or at another time. */
const failing: Readonly<Record<string, string>> = {
  'a refusal before anything is read': 's: deployments(first: 1000) { totalCount }',
  'a refusal when it is read': 's: deploymentCounts(atRevision: "1") { total }',
  'a refusal after something was read': 's: deployments(first: 1) { nodes { history(first: 1000) { totalCount } } }',
  'a nullable field that fails': `s: node(id: "${expired}") { id }`,
  'a list whose items fail': `s: nodes(ids: ["${expired}", "${present}", "${expired}"]) { id }`,
  'a list that is too long': `s: nodes(ids: [${'"x" '.repeat(101)}]) { id }`,
  'a list of the past': 's: deployments(atRevision: "1") { nodes { id } }',
}

interface SiblingDocument {
  readonly name: string
  readonly query: string
}

/** Of queries, which go over every transport, or of subscriptions. */
export function siblingDocuments(root: 'Query' | 'Subscription'): SiblingDocument[] {
  const documents: SiblingDocument[] = []
  for (const { name, path, type, field } of listFields(root)) {
    const own = failingFieldOf(type)
    const wrap = (inner: string): string => path.reduceRight((text, part) => `${part} { ${text} }`, inner)
    for (const list of selectionsOf(field)) {
      if (own !== null) documents.push({ name: `${name} beside ${own} of its object`, query: wrap(`${list} ${own}`) })
      if (own !== null) documents.push({ name: `${own} of its object before ${name}`, query: wrap(`${own} ${list}`) })
      if (root === 'Subscription') documents.push({ name: `${name} alone`, query: wrap(list) })
      else
        for (const [what, sibling] of Object.entries(failing)) {
          documents.push({ name: `${name} before ${what}`, query: `${wrap(list)} ${sibling}` })
          documents.push({ name: `${name} after ${what}`, query: `${sibling} ${wrap(list)}` })
        }
    }
  }
  return documents.map(({ name, query }) => ({ name, query: `${root.toLowerCase()} { ${query} }` }))
}

interface ListField {
  readonly name: string
  readonly path: readonly string[]
  readonly type: GraphQLNamedType
  readonly field: Field
}

/** Each field that is a list, and a shortest way to it; mutations' own lists are reached through their types elsewhere. */
export function listFields(root: string): ListField[] {
  const found: ListField[] = []
  const start = schema.getType(root)
  const waiting: { readonly type: GraphQLNamedType; readonly path: readonly string[] }[] = start
    ? [{ type: start, path: [] }]
    : []
  const seen = new Set<string>()
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { type, path } = next
    if (seen.has(type.name)) continue
    seen.add(type.name)
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const field of Object.values(type.getFields())) {
      if (isListType(getNullableType(field.type))) found.push({ name: `${type.name}.${field.name}`, path, type, field })
      const target = getNamedType(field.type)
      if (!isCompositeType(target)) continue
      const step = `${field.name}${argumentsOf(field)}`
      waiting.push({ type: target, path: [...path, step] })
      for (const possible of isObjectType(target) ? [] : schema.getPossibleTypes(target))
        waiting.push({ type: possible, path: [...path, step, `... on ${possible.name}`] })
    }
  }
  return found
}

/** Healthy, and of what has expired where it can be asked for. */
function selectionsOf(field: Field): string[] {
  const inner = isCompositeType(getNamedType(field.type)) ? ' { __typename }' : ''
  const ids = field.args.some(({ name }) => name === 'ids') ? [`(ids: ["${expired}", "${expired}"])`] : []
  return [argumentsOf(field), ...ids].map((given) => `${field.name}${given}${inner}`)
}

function failingFieldOf(type: GraphQLNamedType): string | null {
  if (!isObjectType(type) || type === schema.getQueryType()) return null
  const page = Object.values(type.getFields()).find((one) => getNamedType(one.type).name.endsWith('Connection'))
  if (!page) return null
  const others = page.args.filter(({ name, type }) => isNonNullType(type) && name !== 'first')
  const required = others.map((arg) => `${argumentOf(arg)}, `)
  return `s: ${page.name}(${required.join('')}first: 1000) { totalCount }`
}

/** `after`: a subscription to changes tells what there is already. */
export function argumentsOf({ name, args }: Field): string {
  const given = args.filter(
    (arg) => isNonNullType(arg.type) || arg.name === 'key' || (name === 'changes' && arg.name === 'after'),
  )
  return given.length === 0 ? '' : `(${given.map(argumentOf).join(', ')})`
}

const known: Readonly<Record<string, string>> = {
  id: `"${present}"`,
  ids: `["${present}"]`,
  deploymentId: '"d-1"',
  deviceId: '"edge-1"',
  key: '{ name: "r-1" }',
  after: '"0"',
}

const argumentOf = ({ name, type }: GraphQLArgument): string => `${name}: ${known[name] ?? literalOf(type)}`

function literalOf(type: GraphQLInputType): string {
  const inner = getNullableType(type)
  if (isListType(inner)) return `[${literalOf(inner.ofType)}]`
  if (isEnumType(inner)) return inner.getValues()[0]?.name ?? ''
  if (!isInputObjectType(inner)) return ['Int', 'Float'].includes(inner.name) ? '1' : '"1"'
  const fields = Object.values(inner.getFields()).filter((field) => isNonNullType(field.type))
  return `{ ${fields.map((field) => `${field.name}: ${literalOf(field.type)}`).join(', ')} }`
}
