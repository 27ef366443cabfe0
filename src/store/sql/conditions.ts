/** Filters as SQL: one function for each field, and the conditions of the fields that are given. */
import type { SQL } from 'drizzle-orm'

/** The compiler ensures that each field has its condition. */
export type Conditions<Fields> = { readonly [Field in keyof Fields]-?: (value: NonNullable<Fields[Field]>) => SQL }

/** The compiler refuses a field that the table does not have, also one that is left over by destructuring: it would not restrict the result. */
type Only<Fields, Given> = { readonly [Field in keyof Given]: Field extends keyof Fields ? Given[Field] : never }

export function conditionsIn<Fields extends object, Given extends Fields>(
  conditions: Conditions<Fields>,
  fields: Given & Only<Fields, Given>,
): SQL[] {
  return presentFields<Fields>(fields).map((field) => {
    if (!Object.hasOwn(conditions, field)) throw new TypeError(`${String(field)} has no condition`)
    return (conditions[field] as (value: unknown) => SQL)(fields[field])
  })
}

/** The same fields, each with a change of its condition. */
export function mapConditions<Fields>(
  conditions: Conditions<Fields>,
  change: (condition: SQL) => SQL,
): Conditions<Fields> {
  const changed = Object.entries<(value: never) => SQL>(conditions).map(
    ([field, condition]) => [field, (value: never) => change(condition(value))] as const,
  )
  return Object.fromEntries(changed) as unknown as Conditions<Fields>
}

/** The fields that restrict the result. */
export function presentFields<Filter extends object>(filter: Filter): (keyof Filter)[] {
  return (Object.keys(filter) as (keyof Filter)[]).filter(
    (field) => filter[field] !== undefined && filter[field] !== null,
  )
}
