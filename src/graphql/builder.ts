/** The one builder. It defines no types: they are in the files named after them, and schema.ts gathers them. */
import './access.ts'
import SchemaBuilder from '@pothos/core'
import type { Millis, Revision } from '../domain/deployment.ts'
import type { Context } from './context.ts'

export interface BuilderTypes {
  Context: Context
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Millis; Output: Millis }
    Revision: { Input: Revision; Output: Revision }
    JSON: { Input: unknown; Output: unknown }
  }
}

export const builder = new SchemaBuilder<BuilderTypes>({ plugins: ['access'], defaultFieldNullability: false })

export type SchemaTypes = typeof builder.$inferSchemaTypes
