/** The fields selected below a field, so that a list can read them for all rows at once. */
import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql'

/** By path: a field may be asked for what lies beneath it at several depths. */
const selected = new WeakMap<FieldNode, Map<string, ReadonlySet<string>>>()

/** Names of the fields selected below the field, or below `path` from it, including conditional ones. */
export function selectedFields(
  { fieldNodes, fragments }: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>,
  path: readonly string[] = [],
): ReadonlySet<string> {
  const [only, ...others] = fieldNodes
  const byPath = only && others.length === 0 ? (selected.get(only) ?? new Map<string, ReadonlySet<string>>()) : null
  const key = path.join('.')
  const known = byPath?.get(key)
  if (known) return known
  let fields: readonly FieldNode[] = fieldNodes
  const beneath = (): FieldNode[] => fields.flatMap(({ selectionSet }) => [...fieldsOf(selectionSet, fragments)])
  for (const name of path) fields = beneath().filter((field) => field.name.value === name)
  const names = new Set(beneath().map(({ name }) => name.value))
  if (only && byPath) selected.set(only, byPath.set(key, names))
  return names
}

/** Terminates because a valid document has no fragment cycles. */
function* fieldsOf(
  set: SelectionSetNode | undefined,
  fragments: GraphQLResolveInfo['fragments'],
): Generator<FieldNode> {
  for (const selection of set?.selections ?? []) {
    if (selection.kind === Kind.FIELD) yield selection
    else if (selection.kind === Kind.INLINE_FRAGMENT) yield* fieldsOf(selection.selectionSet, fragments)
    else yield* fieldsOf(fragments[selection.name.value]?.selectionSet, fragments)
  }
}
