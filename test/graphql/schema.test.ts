import { existsSync, readFileSync, statSync } from 'node:fs'
import {
  BreakingChangeType,
  buildSchema,
  findSchemaChanges,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isLeafType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  parse,
  validate,
  validateSchema,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { printedSchema, schemaFile } from '../../src/api/graphql/print-schema.ts'
import { schema } from '../../src/api/graphql/schema.ts'

/** The schema of the last release. */
const releasedFile = new URL('released.graphql', import.meta.url)

describe('the schema', () => {
  it('is valid', () => {
    expect(validateSchema(schema)).toEqual([])
  })

  it('equals schema.graphql (otherwise: npm run schema)', () => {
    expect(readFileSync(schemaFile, 'utf8')).toBe(printedSchema())
  })

  it('does not write the file on import', async () => {
    const before = statSync(schemaFile, { bigint: true }).mtimeNs
    await import('../../src/api/graphql/print-schema.ts')
    expect(statSync(schemaFile, { bigint: true }).mtimeNs).toBe(before)
  })

  // One document for all kinds of changes is what pages and terminals need: fields of one name must have one type.
  it('lets a document select every field of every kind of change', () => {
    const kinds = schema.getPossibleTypes(schema.getType('Change') as GraphQLInterfaceType)
    const selections = kinds.map((type) => {
      const fields = Object.values(type.getFields()).filter((field) => field.args.length === 0)
      const selected = fields.map(({ name, type: of }) => {
        // A deployment may run on a cluster, so its device is nullable, unlike that of DeviceRetired.
        const alias = name === 'device' && !isNonNullType(of) ? 'runsOn: device' : name
        return isLeafType(getNamedType(of)) ? alias : `${alias} { __typename }`
      })
      return `... on ${type.name} { ${selected.join(' ')} }`
    })
    expect(validate(schema, parse(`{ changes { nodes { ${selections.join(' ')} } } }`))).toEqual([])
  })

  it('has no ID without a node', () => {
    const withId = Object.values(schema.getTypeMap()).filter(
      (type) =>
        isObjectType(type) && 'id' in type.getFields() && !type.getInterfaces().some(({ name }) => name === 'Node'),
    )
    expect(withId.map(({ name }) => name)).toEqual([])
  })

  it('names a unit for every number', () => {
    expect(
      numbersOf(schema)
        .filter(({ text }) => !unit.test(text))
        .map(({ name }) => name),
    ).toEqual([])
  })

  it('names the specification of every scalar that has a public one', () => {
    const own = Object.values(schema.getTypeMap()).filter((type) => isScalarType(type) && !isSpecifiedScalarType(type))
    const unspecified = own.filter((type) => isScalarType(type) && !type.specifiedByURL)
    expect(unspecified.map(({ name }) => name)).toEqual(['Revision'])
  })

  // The file is made with the first release.
  it.skipIf(!existsSync(releasedFile))('breaks nothing of the last release that was not deprecated there', () => {
    expect(brokenBy(buildSchema(readFileSync(releasedFile, 'utf8')), schema)).toEqual([])
  })

  it('may lose what the last release deprecated, and nothing else', () => {
    const old = buildSchema(
      'type Query { a: Int @deprecated b: Int c(d: Int @deprecated): E } enum E { F G @deprecated }',
    )
    expect(brokenBy(old, buildSchema('type Query { c: E n: Int } enum E { F }'))).toEqual([
      'Field Query.b was removed.',
    ])
  })

  it('describes every type, field, argument, input field and enum value', () => {
    const types = Object.values(schema.getTypeMap()).filter(
      (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
    )
    expect(types.flatMap(undescribed)).toEqual([])
  })
})

/** What a description says a number counts or measures. The values of alerts have the unit of their rule's kind. */
const unit =
  /\bnumber of\b|seconds|bytes|percent|HTTP status|from 0 to 1\b|probability|^(Alert|AlertRaised|AlertRule|SaveAlertRuleInput)\.(value|resolvedValue|threshold|resolveThreshold)\b/i

function numbersOf(of: GraphQLSchema): { readonly name: string; readonly text: string }[] {
  const isNumber = (type: GraphQLType): boolean => ['Int', 'Float'].includes(getNamedType(type).name)
  const shown = (name: string, description: string | null | undefined) => ({
    name,
    text: `${name} ${description ?? ''}`,
  })
  return Object.values(of.getTypeMap()).flatMap((type) => {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)))
      return []
    const fields: readonly (GraphQLField<unknown, unknown> | GraphQLInputField)[] = Object.values(type.getFields())
    return fields.flatMap((field) => [
      ...(isNumber(field.type) ? [shown(`${type.name}.${field.name}`, field.description)] : []),
      ...('args' in field ? field.args : [])
        .filter((argument) => isNumber(argument.type))
        .map((argument) => shown(`${type.name}.${field.name}(${argument.name})`, argument.description)),
    ])
  })
}

/** The incompatible changes from a released schema, but the removal of what it deprecates. */
function brokenBy(released: GraphQLSchema, next: GraphQLSchema): string[] {
  return findSchemaChanges(released, next)
    .filter((change) => change.type in BreakingChangeType && !wasDeprecated(released, change.description))
    .map(({ description }) => description)
}

/** Whether a removal concerns a field, an argument, an input field or an enum value that the schema deprecates. */
function wasDeprecated(of: GraphQLSchema, change: string): boolean {
  const [, typeName = '', name = '', argument] =
    /^\S*(?: \S+)*? ?(\w+)\.(\w+)(?:\((\w+):?\))?.* was removed\.$/.exec(change) ?? []
  const type = of.getType(typeName)
  if (isEnumType(type)) return type.getValue(name)?.deprecationReason !== undefined
  if (isInputObjectType(type)) return type.getFields()[name]?.deprecationReason !== undefined
  if (!isObjectType(type) && !isInterfaceType(type)) return false
  const field = type.getFields()[name]
  const removed = argument === undefined ? field : field?.args.find((one) => one.name === argument)
  return removed?.deprecationReason !== undefined
}

function undescribed(type: GraphQLNamedType): string[] {
  const parts: [string, string | null | undefined][] = [[type.name, type.description]]
  if (isEnumType(type)) for (const value of type.getValues()) parts.push([value.name, value.description])
  if (isInputObjectType(type))
    for (const field of Object.values(type.getFields())) parts.push([field.name, field.description])
  if (isObjectType(type) || isInterfaceType(type))
    for (const field of Object.values(type.getFields())) {
      parts.push([field.name, field.description])
      for (const arg of field.args) parts.push([`${field.name}(${arg.name})`, arg.description])
    }
  return parts.filter(([, description]) => !description?.trim()).map(([name]) => `${type.name}: ${name}`)
}
