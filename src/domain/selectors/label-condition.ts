/** Conditions on labels. */

/** A condition on the values of one label. All that is present must hold. If nothing is present, the label must exist. */
export interface LabelCondition {
  readonly key: string
  readonly equals?: string
  readonly in?: readonly string[]
  /** Also true where the label does not exist. */
  readonly notIn?: readonly string[]
  readonly exists?: boolean
  readonly prefix?: string
}

/** `values`: those of the label with the condition's key. A target may have several. */
export function matchesLabel(condition: LabelCondition, values: readonly string[]): boolean {
  const { equals, in: wanted, notIn, prefix } = condition
  const { exists } = explicit(condition)
  return (
    (exists === undefined || exists === values.length > 0) &&
    (equals === undefined || values.includes(equals)) &&
    (wanted === undefined || values.some((value) => wanted.includes(value))) &&
    (notIn === undefined || !values.some((value) => notIn.includes(value))) &&
    (prefix === undefined || values.some((value) => value.startsWith(prefix)))
  )
}

/** The condition with `exists` if it has only a key. */
export function explicit(condition: LabelCondition): LabelCondition {
  const { key, ...parts } = condition
  return Object.values(parts).every((part) => part === undefined) ? { key, exists: true } : condition
}
