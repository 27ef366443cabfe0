/**
 * `selector` and `where`: the conditions of the command line and of GraphQL. Both become the input of a GraphQL filter and go through the
 * same functions, so an export selects what a query selects.
 */
import { coerceInputValue, type GraphQLInputType, isInputType, validateInputValue } from 'graphql'
import type { ChangeFilter } from '../../domain/nouns/change.ts'
import { parseLabelSelector } from '../../domain/selectors/label-selector.ts'
import { isDeeperThan } from '../../platform/limits/nesting.ts'
import type { DeploymentFilter } from '../../store/read/filters/deployment-filter.ts'
import type { DeviceFilter } from '../../store/read/targets/targets.ts'
import { maxVariableDepth } from '../graphql/guards/limits.ts'
import { toChangeFilter } from '../graphql/objects/changes/change-list.ts'
import { toDeploymentFilter } from '../graphql/objects/selectors/deployment-filter.ts'
import { toDeviceFilter } from '../graphql/objects/selectors/filters.ts'
import { schema } from '../graphql/schema.ts'
import { givenIn, type Query, type ReadValue, refused } from './query.ts'

export const conditionParameters = ['selector', 'where'] as const

/** What can be read of them without the kind of export. */
export const valuesOfConditions: Readonly<Record<(typeof conditionParameters)[number], ReadValue>> = {
  selector: (query) => labelsOf(query.get('selector') ?? ''),
  where: (query) => parseJson(query.get('where') ?? ''),
}

export const changeFilterOf = (query: Query): ChangeFilter => toChangeFilter(inputOf(query, 'ChangeFilter'))
export const deploymentFilterOf = (query: Query): DeploymentFilter =>
  toDeploymentFilter(inputOf(query, 'DeploymentFilter'))
export const deviceFilterOf = (query: Query): DeviceFilter => toDeviceFilter(inputOf(query, 'DeviceFilter'))

/** The parameters as they were given. */
export function conditionsOf(query: Query): Readonly<Record<string, string>> {
  return givenIn(query, conditionParameters)
}

/** The value of an input type of the schema, as its resolvers receive it. */
function inputOf<Input extends object>(query: Query, typeName: string): Input | null {
  const where = query.get('where')
  const selector = query.get('selector')
  if (where === undefined && selector === undefined) return null
  const parts = [
    ...(where === undefined ? [] : [parseJson(where)]),
    ...(selector === undefined ? [] : labelsOf(selector).map((label) => ({ label }))),
  ]
  const type = schema.getType(typeName)
  if (!isInputType(type)) throw new Error(`the schema has no input type ${typeName}`)
  const input = { where: parts.length === 1 ? parts[0] : { and: parts } }
  const problem = problemIn(input, type)
  if (problem !== null) throw refused(where === undefined ? 'selector' : 'where', `is refused: ${problem}`)
  return coerceInputValue(input, type) as Input
}

function problemIn(input: unknown, type: GraphQLInputType): string | null {
  let found: string | null = null
  validateInputValue(input, type, (error) => {
    found ??= error.message.slice(0, 500)
  })
  return found
}

function labelsOf(selector: string) {
  const labels = parseLabelSelector(selector)
  if (labels) return labels
  throw refused('selector', `must be conditions such as site=munich,env!=dev, but is ${shown(selector)}`)
}

function parseJson(text: string): unknown {
  const value = jsonOf(text)
  // The functions that read a value call themselves for each level, so a deeper one would exceed the stack.
  if (isDeeperThan(value, maxVariableDepth))
    throw refused('where', `nests deeper than ${maxVariableDepth} levels: reduce the nesting`)
  return value
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refused('where', `must be JSON, as the argument where of GraphQL, but is ${shown(text)}`)
  }
}

const shown = (text: string): string => JSON.stringify(text.slice(0, 100))
