/**
 * The maximum cost of an operation: 1 per value that the response may contain. A page counts with its maximum size,
 * from `first` or `last`, including variables, and a series with its number of points. It is computed before execution; execution/budget.ts counts the actual
 * values.
 *
 *   cost(selection set) = sum over its fields of 1 + size × cost(its own selection set) + the parts of its selector (`filter.where`)
 */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql'
import { defaultPageSize, defaultPoints, maxPageSize, maxPoints } from './page-size.ts'

/** Assumed length of an unpaged list: components, labels, introspection. */
const assumedLength = 5

export interface Costing {
  readonly schema: GraphQLSchema
  readonly operation: {
    readonly selectionSet: SelectionSetNode
    readonly operation: 'query' | 'mutation' | 'subscription'
  }
  readonly fragmentDefinitions: Readonly<Record<string, FragmentDefinitionNode>>
  readonly variableValues: { readonly coerced: Readonly<Record<string, unknown>> }
}

export function costOf({ schema, operation, fragmentDefinitions, variableValues }: Costing): number {
  const known = new Map<SelectionSetNode, number>()

  function ofSet(set: SelectionSetNode, type: GraphQLNamedType | undefined): number {
    const before = known.get(set)
    if (before !== undefined) return before
    let cost = 0
    for (const selection of set.selections) {
      if (selection.kind === 'Field') cost += ofField(selection, type)
      else if (selection.kind === 'InlineFragment')
        cost += ofSet(selection.selectionSet, typeNamed(selection.typeCondition?.name.value) ?? type)
      else cost += ofFragment(fragmentDefinitions[selection.name.value])
    }
    known.set(set, cost)
    return cost
  }

  function ofFragment(fragment: FragmentDefinitionNode | undefined): number {
    return fragment ? ofSet(fragment.selectionSet, typeNamed(fragment.typeCondition.name.value)) : 0
  }

  function ofField(field: FieldNode, parent: GraphQLNamedType | undefined): number {
    const parts = partsOf(field)
    if (!field.selectionSet) return 1 + parts
    const definition = isCompositeType(parent) ? schema.getField(parent, field.name.value) : undefined
    if (!definition) return 1 + parts
    return 1 + parts + sizeOf(field, definition, parent) * ofSet(field.selectionSet, getNamedType(definition.type))
  }

  function sizeOf(
    field: FieldNode,
    definition: GraphQLField<unknown, unknown>,
    parent: GraphQLNamedType | undefined,
  ): number {
    const given = new Map(field.arguments?.map(({ name, value }) => [name.value, givenValue(value)]))
    if (definition.args.some(({ name }) => name === 'first')) {
      const size = given.get('first') ?? given.get('last') ?? defaultPageSize
      return typeof size === 'number' ? Math.min(Math.max(size, 1), maxPageSize) : defaultPageSize
    }
    if (definition.args.some(({ name }) => name === 'points')) {
      const points = given.get('step') === undefined ? (given.get('points') ?? defaultPoints) : maxPoints
      return typeof points === 'number' ? Math.min(Math.max(points, 1), maxPoints) : maxPoints
    }
    // A page is counted at its own field, not again at `nodes` and `edges`.
    if (!isListType(getNullableType(definition.type)) || isPage(parent)) return 1
    const ids = given.get('ids') ?? given.get('representations')
    return Array.isArray(ids) ? ids.length : assumedLength
  }

  /** Each is a condition on every row that is read. */
  function partsOf(field: FieldNode): number {
    const filter = field.arguments?.find(({ name }) => name.value === 'filter')?.value
    const value = filter && valueFromASTUntyped(filter, variableValues.coerced)
    return isObject(value) ? objectsIn(value.where) : 0
  }

  /** A connection, or an update of a live list. */
  function isPage(type: GraphQLNamedType | undefined): boolean {
    return (
      isCompositeType(type) && ['pageInfo', 'hasNextPage'].some((name) => schema.getField(type, name) !== undefined)
    )
  }

  function givenValue(value: ValueNode): unknown {
    if (value.kind === 'Variable') return variableValues.coerced[value.name.value]
    if (value.kind === 'IntValue') return Number(value.value)
    return value.kind === 'ListValue' ? value.values : undefined
  }

  const typeNamed = (name: string | undefined): GraphQLNamedType | undefined =>
    name === undefined ? undefined : schema.getType(name)

  return ofSet(operation.selectionSet, schema.getRootType(operation.operation) ?? undefined)
}

function objectsIn(value: unknown): number {
  if (!isObject(value)) return 0
  const below = Object.values(value).reduce((sum: number, part) => sum + objectsIn(part), 0)
  return below + (Array.isArray(value) ? 0 : 1)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
