/** The conditions of an operation that no index serves: alone, they read each row of their list or count. */
import {
  type GraphQLInputObjectType,
  type GraphQLInputType,
  getNamedType,
  isInputObjectType,
  type OperationDefinitionNode,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import type { Costing } from './operation-cost.ts'

type Executed = Omit<Costing, 'operation'> & { readonly operation: OperationDefinitionNode }

/** Options of an input field whose condition no index serves. */
export function withoutIndex(description: string) {
  return { description: `${description} No index serves it.`, extensions: { isUnindexed: true } }
}

/** Each once, such as `deployments.filter.where.text`. */
export function unindexedOf({ schema, operation, fragmentDefinitions, variableValues }: Executed): string[] {
  const found = new Set<string>()
  function walk(value: unknown, type: GraphQLInputType, path: string): void {
    const named = getNamedType(type)
    if (Array.isArray(value)) for (const item of value) walk(item, type, path)
    else if (isInputObjectType(named) && typeof value === 'object' && value !== null) walkFields(value, named, path)
  }
  function walkFields(values: object, type: GraphQLInputObjectType, path: string): void {
    for (const [name, given] of Object.entries(values)) {
      const field = type.getFields()[name]
      if (!field || given === null || given === undefined) continue
      // Parts are combined: the path names what is in them.
      const below = isPart(name) ? path : `${path}.${name}`
      if (field.extensions.isUnindexed === true) found.add(below)
      walk(given, field.type, below)
    }
  }
  const types = new TypeInfo(schema)
  const visitor = visitWithTypeInfo(types, {
    Argument(node) {
      const argument = types.getArgument()
      const field = types.getFieldDef()
      if (!argument || !field) return
      walk(valueFromASTUntyped(node.value, variableValues.coerced), argument.type, `${field.name}.${argument.name}`)
    },
  })
  for (const part of [operation, ...Object.values(fragmentDefinitions)]) visit(part, visitor)
  return [...found].toSorted()
}

const isPart = (name: string): boolean => name === 'and' || name === 'or' || name === 'not'
