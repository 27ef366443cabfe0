import { type Details, declaredDetails } from '../../../../domain/nouns/deployment.ts'
import type { SchemaTypes } from '../../builder.ts'

/** The details that reports give, of a deployment or of a change. */
export function detailFields<Row extends { readonly [Name in keyof Details]?: Details[Name] }>(
  t: PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Row>,
  described: 'says' | 'changed',
) {
  return Object.fromEntries(
    declaredDetails.map((detail) => [
      detail.name,
      t.field({
        // Pothos finds an enum by its name, too. Its types know the names of scalars only.
        type: detail.type as 'String',
        nullable: true,
        description: detail[described],
        resolve: (row) => row[detail.name] ?? null,
      }),
    ]),
  )
}
