/**
 * Selectors: conditions that are combined by `and`, `or` and `not`. A leaf is a set of conditions on one kind of row, all of which must hold.
 * SQL (store/read) and the subscriptions, which evaluate in memory, fold the same tree.
 */

/** What a leaf says and how its parts combine. All that is present must hold. An empty `or` matches nothing, an empty `and` everything. */
export type Selector<Leaf extends object> = Leaf & {
  readonly and?: readonly Selector<Leaf>[]
  readonly or?: readonly Selector<Leaf>[]
  readonly not?: Selector<Leaf>
}

interface Folding<Leaf extends object, Result> {
  readonly leaf: (leaf: Leaf) => readonly Result[]
  readonly all: (parts: readonly Result[]) => Result
  readonly any: (parts: readonly Result[]) => Result
  readonly not: (part: Result) => Result
}

export function foldSelector<Leaf extends object, Result>(selector: Selector<Leaf>, by: Folding<Leaf, Result>): Result {
  const { and, or, not, ...leaf } = selector
  const fold = (part: Selector<Leaf>): Result => foldSelector(part, by)
  return by.all([
    ...by.leaf(leaf as unknown as Leaf),
    ...(and ?? []).map(fold),
    ...(or ? [by.any(or.map(fold))] : []),
    ...(not ? [by.not(fold(not))] : []),
  ])
}

/** The same selector of other leaves. */
export function mapLeaves<Leaf extends object>(
  { and, or, not, ...leaf }: Selector<Leaf>,
  change: (leaf: Leaf) => Leaf,
): Selector<Leaf> {
  const inside = (part: Selector<Leaf>): Selector<Leaf> => mapLeaves(part, change)
  return {
    ...change(leaf as unknown as Leaf),
    ...(and && { and: and.map(inside) }),
    ...(or && { or: or.map(inside) }),
    ...(not && { not: inside(not) }),
  }
}

/** The leaves of a filter and of its selector that every row matches. A leaf within `or` or `not` is none of them. */
export function leavesOf<Leaf extends object>({
  where,
  ...own
}: Selector<Leaf> & { readonly where?: Selector<Leaf> }): readonly Leaf[] {
  const conjuncts = (part: Selector<Leaf>): readonly Selector<Leaf>[] => [part, ...(part.and ?? []).flatMap(conjuncts)]
  return [...conjuncts(own as unknown as Selector<Leaf>), ...(where ? conjuncts(where) : [])]
}

/** The leaves of a selector that is a conjunction of them. Null: it has an `or` or a `not`. */
export function conjunctionOf<Leaf extends object>(selector: Selector<Leaf>): readonly Leaf[] | null {
  const { and = [], or, not, ...leaf } = selector
  const parts = and.map((part) => conjunctionOf<Leaf>(part))
  if (or || not || parts.includes(null)) return null
  return [leaf as unknown as Leaf, ...parts.flatMap((part) => part ?? [])]
}

/** A row matches if it matches all parts of the leaves as `matchesLeaf` says. */
export function matchesSelector<Leaf extends object>(
  selector: Selector<Leaf>,
  matchesLeaf: (leaf: Leaf) => boolean,
): boolean {
  return foldSelector<Leaf, boolean>(selector, {
    leaf: (leaf) => [matchesLeaf(leaf)],
    all: (parts) => parts.every(Boolean),
    any: (parts) => parts.some(Boolean),
    not: (part) => !part,
  })
}

export const maxSelectorDepth = 6
export const maxSelectorParts = 100
/** Of all parts together. Each is text of a statement, which is made in one turn of the event loop. */
export const maxSelectorConditions = 400

/** Why a selector is too large, or null. */
export function selectorProblem(selector: Selector<object>): string | null {
  let [parts, conditions] = [0, 0]
  function depthOf({ and = [], or = [], not, ...leaf }: Selector<object>): number {
    parts += 1
    conditions += Object.keys(leaf).length
    const below = [...and, ...or, ...(not ? [not] : [])]
    return 1 + Math.max(0, ...below.map(depthOf))
  }
  const depth = depthOf(selector)
  if (depth > maxSelectorDepth) return `is ${depth} levels deep; at most ${maxSelectorDepth} are allowed`
  if (parts > maxSelectorParts) return `has ${parts} parts; at most ${maxSelectorParts} are allowed`
  return conditions > maxSelectorConditions
    ? `has ${conditions} conditions; at most ${maxSelectorConditions} are allowed`
    : null
}

/** Whether the filter or a part of its selector has one of the fields. */
export function mentions<Condition extends object>(
  { where, ...own }: Condition & { readonly where?: Selector<Condition> },
  fields: readonly (keyof Condition)[],
): boolean {
  const isOneOf = (leaf: Partial<Condition>): boolean => fields.some((field) => leaf[field] !== undefined)
  if (isOneOf(own as Partial<Condition>) || !where) return isOneOf(own as Partial<Condition>)
  const isAny = (parts: readonly boolean[]): boolean => parts.includes(true)
  return foldSelector<Condition, boolean>(where, {
    leaf: (leaf) => [isOneOf(leaf)],
    all: isAny,
    any: isAny,
    not: (part) => part,
  })
}
