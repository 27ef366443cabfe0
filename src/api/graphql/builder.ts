/** The schema builder. It defines no types: each type is in the file of its name, and schema.ts imports them all. */
import './guards/access.ts'
import SchemaBuilder from '@pothos/core'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Context } from './execution/context.ts'

interface BuilderTypes {
  Context: Context
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Millis; Output: Millis }
    Revision: { Input: Revision; Output: Revision }
    JSON: { Input: unknown; Output: unknown }
    _Any: { Input: unknown; Output: unknown }
  }
}

export const builder = new SchemaBuilder<BuilderTypes>({ plugins: ['access'], defaultFieldNullability: false })

export type SchemaTypes = typeof builder.$inferSchemaTypes
