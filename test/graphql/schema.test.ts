import { readFileSync, statSync } from 'node:fs'
import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  validateSchema,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { printedSchema, schemaFile } from '../../src/graphql/print-schema.ts'
import { schema } from '../../src/graphql/schema.ts'

describe('the schema', () => {
  it('is valid', () => {
    expect(validateSchema(schema)).toEqual([])
  })

  it('is what schema.graphql says (else: npm run schema)', () => {
    expect(readFileSync(schemaFile, 'utf8')).toBe(printedSchema())
  })

  it('writes nothing when it is imported', async () => {
    const before = statSync(schemaFile, { bigint: true }).mtimeNs
    await import('../../src/graphql/print-schema.ts')
    expect(statSync(schemaFile, { bigint: true }).mtimeNs).toBe(before)
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
