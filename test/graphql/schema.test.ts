import { readFileSync, statSync } from 'node:fs'
import {
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isLeafType,
  isNonNullType,
  isObjectType,
  isSpecifiedScalarType,
  parse,
  validate,
  validateSchema,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { printedSchema, schemaFile } from '../../src/graphql/print-schema.ts'
import { schema } from '../../src/graphql/schema.ts'

describe('the schema', () => {
  it('is valid', () => {
    expect(validateSchema(schema)).toEqual([])
  })

  it('equals schema.graphql (otherwise: npm run schema)', () => {
    expect(readFileSync(schemaFile, 'utf8')).toBe(printedSchema())
  })

  it('does not write the file on import', async () => {
    const before = statSync(schemaFile, { bigint: true }).mtimeNs
    await import('../../src/graphql/print-schema.ts')
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

  it('has no ID without a node, except what administrators manage', () => {
    const withId = Object.values(schema.getTypeMap()).filter(
      (type) =>
        isObjectType(type) && 'id' in type.getFields() && !type.getInterfaces().some(({ name }) => name === 'Node'),
    )
    expect(withId.map(({ name }) => name)).toEqual(['ApiKey', 'Delivery', 'Sink'])
  })

  it('describes every type, field, argument, input field and enum value', () => {
    const types = Object.values(schema.getTypeMap()).filter(
      (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
    )
    expect(types.flatMap(undescribed)).toEqual([])
  })
})

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
