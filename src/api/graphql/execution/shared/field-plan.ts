/**
 * The fields that an operation selects, each with the key under which subscribers with other documents share its result.
 * Aliases, fragments, `@skip` and `@include` are resolved once for all events. Valid for one operation and its variables.
 */
import { createHash } from 'node:crypto'
import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isLeafType,
  type ValidatedExecutionArgs,
} from 'graphql'
import { collectFields, collectSubfields, type FieldDetailsList } from 'graphql/execution/collectFields.js'
import { getArgumentValues } from 'graphql/execution/values.js'

export interface FieldPlan {
  readonly rootType: GraphQLObjectType
  /** Null: the operation cannot share fields. */
  readonly fields: readonly PlannedField[] | null
}

export interface PlannedField {
  /** The field and its arguments. Fields of one object with equal keys have equal results. */
  readonly key: string
  readonly responseName: string
  /** The text before the value: the name, after the comma of a field that is not the first. */
  readonly prefix: string
  readonly isLeaf: boolean
  readonly type: GraphQLNamedType
  /** The fields selected in an object of this type. Null: they cannot be shared. */
  readonly fieldsOf: (type: GraphQLObjectType) => Fields
}

type Fields = readonly PlannedField[] | null

/** Longer arguments are hashed: each subscription keeps its keys. */
const longestArguments = 200

export function createFieldPlan(args: ValidatedExecutionArgs): FieldPlan {
  const { schema, fragments, variableValues, hideSuggestions, operation } = args
  const rootType = schema.getRootType(operation.operation)
  if (!rootType) throw new Error('the schema has no such operation')

  function plan(type: GraphQLObjectType, selected: Pick<ReturnType<typeof collectFields>, 'groupedFieldSet'>): Fields {
    const fields: PlannedField[] = []
    for (const [responseName, details] of selected.groupedFieldSet) {
      const field = planField(type, responseName, details, fields.length === 0)
      if (!field) return null
      fields.push(field)
    }
    return fields
  }

  function planField(
    parent: GraphQLObjectType,
    responseName: string,
    details: FieldDetailsList,
    isFirst: boolean,
  ): PlannedField | null {
    const [first] = details
    const definition = first && schema.getField(parent, first.node.name.value)
    if (!definition || details.some((one) => one.deferUsage || one.fragmentVariableValues)) return null
    const type = getNamedType(definition.type)
    return {
      key: keyOf(definition.name, getArgumentValues(definition, first.node, variableValues)),
      responseName,
      prefix: `${isFirst ? '' : ','}${JSON.stringify(responseName)}:`,
      isLeaf: isLeafType(type),
      type,
      fieldsOf: isLeafType(type) ? noFields : planSubfields(details),
    }
  }

  function planSubfields(details: FieldDetailsList): PlannedField['fieldsOf'] {
    const known = new Map<GraphQLObjectType, Fields>()
    return (type) => {
      let fields = known.get(type)
      if (fields !== undefined) return fields
      const select = () => collectSubfields(schema, fragments, variableValues, type, details, hideSuggestions)
      fields = planned(() => plan(type, select()))
      known.set(type, fields)
      return fields
    }
  }

  const root = operation.selectionSet
  const selectRoot = () => collectFields(schema, fragments, variableValues, rootType, root, hideSuggestions)
  return { rootType, fields: planned(() => plan(rootType, selectRoot())) }
}

/** Null: arguments are wrong, which graphql reports as an error of the field. */
function planned(plan: () => Fields): Fields {
  try {
    return plan()
  } catch {
    return null
  }
}

/** Resolvers get coerced arguments, so fields whose coerced arguments are equal have equal results. */
function keyOf(name: string, values: object): string {
  if (Object.keys(values).length === 0) return name
  const text = JSON.stringify(values)
  return `${name} ${text.length > longestArguments ? createHash('sha256').update(text).digest('base64url') : text}`
}

function noFields(): null {
  return null
}
