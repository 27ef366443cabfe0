/** The inputs of filters, and `where`: conditions combined by `and`, `or` and `not`. All of it follows from the declarations of the nouns (domain/nouns). */
import type { InputFieldMap } from '@pothos/core'
import { DomainError } from '../../../../domain/errors.ts'
import {
  type ConditionOf,
  type FilterDeclaration,
  type FilterField,
  type FilterFields,
  type FilterOf,
  storedName,
} from '../../../../domain/nouns/filter.ts'
import type { LabelCondition } from '../../../../domain/selectors/label-condition.ts'
import {
  maxSelectorConditions,
  maxSelectorDepth,
  maxSelectorParts,
  type Selector,
  selectorProblem,
} from '../../../../domain/selectors/selector.ts'
import { builder } from '../../builder.ts'
import { withoutIndex } from '../../guards/unindexed.ts'
import { givenFields } from '../../mutations/input.ts'
import { LabelInput } from '../label.ts'
import { keysOf, type NodeType } from '../node.ts'

type InputTypeOptions = Parameters<typeof builder.inputType>[1]
/** The builder of an input type's fields. */
export type InputFields = Parameters<InputTypeOptions['fields']>[0]

/** As a client gives them. GraphQL has compared the values with the types below. */
export type Given<Fields> = { readonly [Name in keyof Fields]?: unknown }

type Where<Fields> = Given<Fields> & {
  readonly and?: readonly Where<Fields>[] | null | undefined
  readonly or?: readonly Where<Fields>[] | null | undefined
  readonly not?: Where<Fields> | null | undefined
}

export type FilterInput<Declaration extends FilterDeclaration> = Given<Declaration['conditions']> &
  (Declaration extends { readonly own: infer Own } ? Given<Own> : unknown) &
  (Declaration extends { readonly isFlat: true }
    ? unknown
    : { readonly where?: Where<Declaration['conditions']> | null | undefined })

/** `more`: fields that are read elsewhere. */
export function implementFilter<Declaration extends FilterDeclaration>(
  declaration: Declaration,
  more: (t: InputFields) => InputFieldMap = () => ({}),
) {
  const { name, one, many, conditions, own = {}, says, isFlat = false } = declaration
  const whereRef = isFlat ? null : implementWhere(name, many, conditions)
  const ref = builder.inputRef<FilterInput<Declaration>>(`${name}Filter`)
  ref.implement({
    description: `Selects ${many}. ${one.charAt(0).toUpperCase()}${one.slice(1)} matches a field if it has any of its values; it must match all fields given. An empty list matches nothing.${says ? ` ${says}` : ''}`,
    // Pothos infers no shape from data; FilterInput says the same.
    fields: (t) =>
      ({
        ...inputFieldsOf(t, { ...conditions, ...own }),
        ...more(t),
        ...(whereRef && {
          where: t.field({ type: whereRef, description: 'Conditions that are combined by `and`, `or` and `not`.' }),
        }),
      }) as never,
  })
  function read(input: FilterInput<Declaration> | null | undefined): FilterOf<Declaration> {
    const { where, ...given } = (input ?? {}) as Given<FilterFields> & { readonly where?: Where<FilterFields> | null }
    const selector = readSelector(conditions, where)
    return {
      ...readFields({ ...conditions, ...own }, given),
      ...(selector && { where: selector }),
    } as unknown as FilterOf<Declaration>
  }
  return { ref, whereRef, read }
}

function implementWhere<Fields extends FilterFields>(name: string, many: string, conditions: Fields) {
  const ref = builder.inputRef<Where<Fields>>(`${name}Where`)
  return ref.implement({
    description: `Selects ${many}: they must match all fields given. Within a field, any value is enough; an empty list matches nothing. At most ${maxSelectorDepth} levels, ${maxSelectorParts} parts and ${maxSelectorConditions} conditions.`,
    fields: (t) =>
      ({
        ...inputFieldsOf(t, conditions),
        and: t.field({ type: [ref], description: 'All of these match. An empty list: everything matches.' }),
        or: t.field({ type: [ref], description: 'At least one of these matches. An empty list: nothing matches.' }),
        not: t.field({ type: ref, description: 'This does not match.' }),
      }) as never,
  })
}

function inputFieldsOf(t: InputFields, fields: FilterFields): InputFieldMap {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const described = field.isUnindexed ? withoutIndex(field.says) : { description: field.says }
      return [name, t.field({ type: inputTypeOf(field), ...described })]
    }),
  )
}

type InputTypeParam = Parameters<InputFields['field']>[0]['type']

function inputTypeOf({ kind, type }: FilterField): InputTypeParam {
  switch (kind) {
    case 'texts':
      return ['String']
    case 'values':
      // Pothos finds an enum by its name, too. Its types know the names of scalars only.
      return [type as 'String']
    case 'keys':
      return ['ID']
    case 'labels':
      return [LabelInput]
    case 'label':
      return LabelConditionInput
    case 'text':
      return 'String'
    case 'flag':
      return 'Boolean'
    case 'time':
      return 'DateTime'
  }
}

function readFields<Fields extends FilterFields>(fields: Fields, input: Given<Fields>): ConditionOf<Fields> {
  const read = Object.entries(fields).map(([name, field]) => [storedName(name, field), readValue(field, input[name])])
  return givenFields(Object.fromEntries(read)) as ConditionOf<Fields>
}

function readValue({ kind, type }: FilterField, given: unknown): unknown {
  if (kind === 'keys') return keysOf(type as NodeType, given as readonly string[] | null | undefined)
  return kind === 'label' ? toLabelCondition(given as LabelConditionGiven) : given
}

/** Throws BAD_USER_INPUT if the selector is too large. */
function readSelector<Fields extends FilterFields>(
  fields: Fields,
  input: Where<Fields> | null | undefined,
): Selector<ConditionOf<Fields>> | null {
  if (!input) return null
  const convert = ({ and, or, not, ...leaf }: Where<Fields>): Selector<ConditionOf<Fields>> => ({
    ...readFields(fields, leaf as unknown as Given<Fields>),
    ...(and ? { and: and.map(convert) } : {}),
    ...(or ? { or: or.map(convert) } : {}),
    ...(not ? { not: convert(not) } : {}),
  })
  const selector = convert(input)
  const problem = selectorProblem(selector)
  if (problem !== null) throw new DomainError('BAD_USER_INPUT', `where ${problem}`)
  return selector
}

export const LabelConditionInput = builder.inputType('LabelCondition', {
  description:
    'A condition on the label with a key. All fields given must hold. With the key alone, the label must exist.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'The key, such as `site`.' }),
    equals: t.string({ description: 'The value is this.' }),
    in: t.stringList({ description: 'The value is one of these.' }),
    notIn: t.stringList(withoutIndex('The value is none of these. Also true without the label.')),
    exists: t.boolean({ description: 'Whether the label exists. No index serves `false`.' }),
    prefix: t.string({ description: 'The value begins with this. The index finds the key only.' }),
  }),
})

type LabelConditionGiven = typeof LabelConditionInput.$inferInput | null | undefined

function toLabelCondition(input: LabelConditionGiven): LabelCondition | null {
  return input ? { key: input.key, ...givenFields({ ...input }) } : null
}
