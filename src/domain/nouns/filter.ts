/**
 * How a noun is filtered, as data. A declaration has the fields of its filter: the type that a condition compares, the sentence of the schema, and the
 * option of the command line. The types of filters, their GraphQL inputs and the options follow from it. The SQL is in store/read/filters, where
 * the compiler refuses a field without a condition (store/sql/conditions.ts).
 */
import type { LabelCondition } from '../selectors/label-condition.ts'
import type { Selector } from '../selectors/selector.ts'
import type { Label } from '../target.ts'
import type { Millis } from '../values.ts'

interface Kinds {
  readonly texts: readonly string[]
  /** Of an enum, which `type` names. */
  readonly values: readonly string[]
  /** In the API node IDs of objects of `type`, inside their keys. */
  readonly keys: readonly number[]
  readonly labels: readonly Label[]
  readonly label: LabelCondition
  /** Part of a text. Case is ignored. */
  readonly text: string
  readonly flag: boolean
  readonly time: Millis
}
export type FilterKind = keyof Kinds

export interface FilterField<Kind extends FilterKind = FilterKind, Value = unknown> {
  readonly kind: Kind
  /** Of `values` and `keys`: the name of the GraphQL type. */
  readonly type?: string
  /** The description in the schema. */
  readonly says: string
  /** Of `values`: all of them. */
  readonly among?: readonly string[]
  /** Of the command line. Absent: it has none. */
  readonly option?: FilterOption
  /** No index finds the rows that match. */
  readonly isUnindexed?: true
  /** Only its type is used. */
  readonly value?: Value
}

export interface FilterOption {
  readonly name: string
  /** How the help shows its value, such as `<code>`. A flag has none. */
  readonly value?: string
  /** What the help says of it, if its name does not. */
  readonly explained?: string
}

type More = Pick<FilterField, 'isUnindexed' | 'option'>
const field =
  <Kind extends FilterKind>(kind: Kind) =>
  (says: string, more: More = {}): FilterField<Kind, Kinds[Kind]> => ({ kind, says, ...more })

export const texts = field('texts')
export const labels = field('labels')
export const label = field('label')
export const text = field('text')
export const flag = field('flag')
export const time = field('time')
export const keys = (type: string, says: string): FilterField<'keys', readonly number[]> => ({
  kind: 'keys',
  type,
  says,
})
export const values =
  <Value extends string>(type: string, among?: readonly Value[]) =>
  (says: string, more: More = {}): FilterField<'values', readonly Value[]> => ({
    ...{ kind: 'values', type, says },
    ...(among && { among }),
    ...more,
  })

export type FilterFields = Readonly<Record<string, FilterField>>

export interface FilterDeclaration {
  /** Of the GraphQL inputs: DeploymentFilter, DeploymentWhere. */
  readonly name: string
  readonly one: string
  readonly many: string
  /** Of the filter, and of each part of its selector. */
  readonly conditions: FilterFields
  /** Of the filter only. */
  readonly own?: FilterFields
  /** What the schema says of the filter after its meaning. */
  readonly says?: string
  /** It has no selector. */
  readonly isFlat?: true
}

/** `ids` is `keys`, and `rolloutIds` is `rolloutKeys`. */
type StoredName<Name, Field> =
  Field extends FilterField<'keys'>
    ? Name extends 'ids'
      ? 'keys'
      : Name extends `${infer Noun}Ids`
        ? `${Noun}Keys`
        : never
    : Name

export function storedName(name: string, { kind }: FilterField): string {
  return kind === 'keys' ? name.replace(/^ids$/, 'keys').replace(/Ids$/, 'Keys') : name
}

/** Any value within a field, and all fields together. An absent field matches everything, an empty list nothing. */
export type ConditionOf<Fields> = {
  readonly [Name in keyof Fields as StoredName<Name, Fields[Name]>]?: Fields[Name] extends FilterField<
    FilterKind,
    infer Value
  >
    ? Value
    : never
}

export type FilterOf<Declaration extends FilterDeclaration> = ConditionOf<Declaration['conditions']> &
  (Declaration extends { readonly own: infer Own } ? ConditionOf<Own> : unknown) &
  (Declaration extends { readonly isFlat: true }
    ? unknown
    : { readonly where?: Selector<ConditionOf<Declaration['conditions']>> })
