import { type DocumentNode, type GraphQLSchema, Kind, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import { accessOf } from '../guards/access.ts'

const checked = new WeakMap<DocumentNode, boolean>()

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
