/**
 * How large a document is, told before it costs anything to know: of its text before it is parsed (the parser recurses, and would
 * fall over a deep one), of its tree before it is validated (comparing fields that come twice takes the square of their number).
 */
import {
  type DocumentNode,
  type FieldNode,
  Lexer,
  type SelectionNode,
  type SelectionSetNode,
  Source,
  TokenKind,
} from 'graphql'

export interface TextSize {
  readonly tokens: number
  /** Brackets within brackets, of any kind. */
  readonly nesting: number
}

const opening: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const closing: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/** Stops as soon as it is too much. Throws on what is no token, as the parser would. */
export function measureText(text: string | Source, most: TextSize): TextSize {
  const lexer = new Lexer(typeof text === 'string' ? new Source(text) : text)
  let [tokens, nesting, deepest] = [0, 0, 0]
  while (lexer.advance().kind !== TokenKind.EOF && tokens <= most.tokens && deepest <= most.nesting) {
    tokens += 1
    if (opening.has(lexer.token.kind)) nesting += 1
    else if (closing.has(lexer.token.kind)) nesting -= 1
    deepest = Math.max(deepest, nesting)
  }
  return { tokens, nesting: deepest }
}

export interface TreeSize {
  /** Fields within fields, fragments unfolded. */
  readonly depth: number
  /** Fields that have another name or come again in the same place: the ways to ask one thing many times. */
  readonly aliases: number
  readonly directives: number
  /** Times that fragments are used, inline ones included. */
  readonly fragments: number
}

/** Beyond `mostFragments` the depth is not told: a chain of thousands is itself too deep to follow. */
export function measureTree(document: DocumentNode, mostFragments: number): TreeSize {
  const bodies = new Map<string, SelectionSetNode>()
  const depths = new Map<SelectionSetNode, number>()
  let [aliases, directives, fragments] = [0, 0, 0]

  function depthOf(set: SelectionSetNode | undefined): number {
    if (!set) return 0
    const known = depths.get(set)
    if (known !== undefined) return known
    // Who comes round again is in a circle, which validation will name.
    depths.set(set, 0)
    const depth = Math.max(0, ...set.selections.map(depthOfSelection))
    depths.set(set, depth)
    return depth
  }

  function depthOfSelection(selection: SelectionNode): number {
    if (selection.kind === 'Field') return 1 + depthOf(selection.selectionSet)
    return depthOf(selection.kind === 'InlineFragment' ? selection.selectionSet : bodies.get(selection.name.value))
  }

  function count(set: SelectionSetNode | undefined, seen = new Set<string>()): void {
    for (const selection of set?.selections ?? []) {
      directives += selection.directives?.length ?? 0
      if (selection.kind === 'Field') {
        const name = responseName(selection)
        if (selection.alias || seen.has(name)) aliases += 1
        seen.add(name)
        count(selection.selectionSet)
      } else {
        fragments += 1
        // Its fields stand where it stands.
        if (selection.kind === 'InlineFragment') count(selection.selectionSet, seen)
      }
    }
  }

  for (const definition of document.definitions) {
    if (definition.kind !== 'OperationDefinition' && definition.kind !== 'FragmentDefinition') continue
    directives += definition.directives?.length ?? 0
    for (const variable of definition.variableDefinitions ?? []) directives += variable.directives?.length ?? 0
    if (definition.kind === 'FragmentDefinition') {
      fragments += 1
      bodies.set(definition.name.value, definition.selectionSet)
    }
    count(definition.selectionSet)
  }
  if (fragments > mostFragments) return { depth: 0, aliases, directives, fragments }
  const depth = Math.max(...document.definitions.map((one) => ('selectionSet' in one ? depthOf(one.selectionSet) : 0)))
  return { depth, aliases, directives, fragments }
}

function responseName({ alias, name }: FieldNode): string {
  return (alias ?? name).value
}
