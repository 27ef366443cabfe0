/**
 * The schema as text, without what Apollo Federation adds to it: no client selects that, and generators of code ask for the type of each
 * scalar. For the composition of a supergraph, with the keys of entities.
 */
import { GraphQLObjectType, GraphQLSchema, lexicographicSortSchema, printSchema, specifiedDirectives } from 'graphql'

const header =
  'extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@shareable"])\n\n'

/** Further keys, by type: what other systems know an object by. */
const naturalKeys: Readonly<Record<string, readonly string[]>> = { Device: ['deviceId'] }

/** Values without an identity, which other subgraphs have as well. */
const shareable: ReadonlySet<string> = new Set(['PageInfo', 'Label'])

const printed = new WeakMap<GraphQLSchema, string>()

export function clientSdl(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(withoutFederation(schema)))}\n`
}

export function subgraphSdl(schema: GraphQLSchema): string {
  const known = printed.get(schema) ?? `${header}${withDirectives(clientSdl(withoutParts(schema)))}`
  printed.set(schema, known)
  return known
}

/** A gateway sends parts of its own, and asks subgraphs for none. */
const withoutParts = (schema: GraphQLSchema): GraphQLSchema =>
  new GraphQLSchema({ ...schema.toConfig(), directives: specifiedDirectives })

const isOfFederation = (name: string): boolean => /^_[A-Za-z]/.test(name)

function withoutFederation(schema: GraphQLSchema): GraphQLSchema {
  const { query, types, ...config } = schema.toConfig()
  const { fields = {}, ...own } = query?.toConfig() ?? { name: 'Query' }
  const shown = Object.fromEntries(Object.entries(fields).filter(([name]) => !isOfFederation(name)))
  return new GraphQLSchema({
    ...config,
    query: new GraphQLObjectType({ ...own, fields: shown }),
    types: types.filter(({ name }) => name !== query?.name && !isOfFederation(name)),
  })
}

/** In the text: to parse and print it would block the event loop for a third of a second. */
function withDirectives(sdl: string): string {
  return sdl.replace(/^(type (\w+)(?: implements (.+))?) \{$/gm, (_, head: string, name: string, interfaces = '') => {
    const keys = interfaces.split(' & ').includes('Node') ? ['id', ...(naturalKeys[name] ?? [])] : []
    const directives = keys.map((fields) => ` @key(fields: "${fields}")`)
    return `${head}${directives.join('')}${shareable.has(name) ? ' @shareable' : ''} {`
  })
}
