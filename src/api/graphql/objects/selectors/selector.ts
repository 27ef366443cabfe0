/** `where`: conditions combined by `and`, `or` and `not`. Each kind of object has an input type of its own, with its conditions. */
import type { InputFieldMap, InputShapeFromFields } from '@pothos/core'
import { DomainError } from '../../../../domain/errors.ts'
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

type InputTypeOptions = Parameters<typeof builder.inputType>[1]
/** The builder of an input type's fields. */
export type InputFields = Parameters<InputTypeOptions['fields']>[0]

export type Where<Conditions> = Conditions & {
  readonly and?: readonly Where<Conditions>[] | null | undefined
  readonly or?: readonly Where<Conditions>[] | null | undefined
  readonly not?: Where<Conditions> | null | undefined
}

/** Conditions as a client gives them. */
export type Given<Fields extends (t: InputFields) => InputFieldMap> = InputShapeFromFields<ReturnType<Fields>>

/** `name` is the name of the input type, `things` what it selects. */
export function whereInput<Conditions extends (t: InputFields) => InputFieldMap>(
  name: string,
  things: string,
  conditions: Conditions,
) {
  const ref = builder.inputRef<Where<Given<Conditions>>>(name)
  return ref.implement({
    description: `Selects ${things}: they must match all fields given. Within a field, any value is enough; an empty list matches nothing. At most ${maxSelectorDepth} levels, ${maxSelectorParts} parts and ${maxSelectorConditions} conditions.`,
    // Pothos infers no shape from a type parameter; `Where` says the same.
    fields: (t) =>
      ({
        ...conditions(t),
        and: t.field({ type: [ref], description: 'All of these match. An empty list: everything matches.' }),
        or: t.field({ type: [ref], description: 'At least one of these matches. An empty list: nothing matches.' }),
        not: t.field({ type: ref, description: 'This does not match.' }),
      }) as never,
  })
}

/** Throws BAD_USER_INPUT if the selector is too large. */
export function toSelector<Conditions extends object, Leaf extends object>(
  input: Where<Conditions> | null | undefined,
  toLeaf: (conditions: Conditions) => Leaf,
): Selector<Leaf> | null {
  if (!input) return null
  const convert = ({ and, or, not, ...leaf }: Where<Conditions>): Selector<Leaf> => ({
    ...toLeaf(leaf as unknown as Conditions),
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

export function toLabelCondition(
  input: typeof LabelConditionInput.$inferInput | null | undefined,
): LabelCondition | null {
  return input ? { key: input.key, ...givenFields({ ...input }) } : null
}
