/** Input types of orders: what rows are ordered by, and a direction. */
import type { EnumRef } from '@pothos/core'
import { builder, type SchemaTypes } from '../builder.ts'
import { OrderDirectionEnum } from './vocabulary.ts'

export interface OrderInput<Field> {
  readonly field: Field
  readonly direction: typeof OrderDirectionEnum.$inferType
}

interface OrderInputOptions<Field> {
  readonly description: string
  readonly field: EnumRef<SchemaTypes, Field>
  /** The direction of an order without one. */
  readonly direction: OrderInput<Field>['direction']
}

export function orderInput<Field>(name: string, { description, field, direction }: OrderInputOptions<Field>) {
  return builder.inputRef<OrderInput<Field>>(name).implement({
    description,
    // Pothos infers no shape from a type parameter; `OrderInput` says the same.
    fields: (t) =>
      ({
        field: t.field({ type: field, required: true, description: 'What they are ordered by.' }),
        direction: t.field({
          type: OrderDirectionEnum,
          required: true,
          defaultValue: direction,
          description: 'The direction.',
        }),
      }) as never,
  })
}

export function toOrder<Field>({ field, direction }: OrderInput<Field>) {
  return { field, descending: direction === 'DESC' } as const
}
