import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type SelectionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { accessOf } from '../guards/access.ts'

const checked = new WeakMap<DocumentNode, boolean>()

/** Types without revisions. Fields of `node` reach them, and so does a `node` that is asked for nothing but its ID. */
const managed: ReadonlySet<string> = new Set(['Sink', 'Delivery', 'ApiKey'])
const isFragment = ({ kind }: SelectionNode): boolean => kind !== Kind.FIELD

/** Whether responses depend on the log head alone. This holds for all queries that viewers may run. */
export function dependsOnHeadOnly(schema: GraphQLSchema, document: DocumentNode): boolean {
  const known = checked.get(document)
  if (known !== undefined) return known
  let isOnly = true
  const types = new TypeInfo(schema)
  const query = schema.getQueryType()
  visit(
    document,
    visitWithTypeInfo(types, {
      [Kind.FIELD](node) {
        const name = types.getParentType()?.name ?? ''
        const isBareNode =
          ['node', 'nodes'].includes(node.name.value) && !node.selectionSet?.selections.some(isFragment)
        if (managed.has(name) || (types.getParentType() === query && isBareNode)) isOnly = false
        if (
          types.getParentType() === query &&
          node.name.value !== '__typename' &&
          accessOf(types.getFieldDef()) !== 'viewer'
        )
          isOnly = false
      },
    }),
  )
  checked.set(document, isOnly)
  return isOnly
}
