/**
 * Measures a document before it becomes expensive: its text before parsing (the parser recurses, and a deep document
 * would overflow the stack), its tree before validation (comparing repeated fields takes quadratic time).
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
  /** Depth of nested brackets of any kind. */
  readonly nesting: number
}

const opening: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const closing: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/** Stops as soon as a limit is exceeded. Throws on an invalid token, as the parser does. */
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
  /** Depth of nested fields, with fragments expanded. */
  readonly depth: number
  /** Aliased and repeated fields: the ways to select one field many times. */
  readonly aliases: number
  readonly directives: number
  /** Fragment definitions and uses, including inline fragments. */
  readonly fragments: number
}

/** With more than `maxFragments`, depth is 0: following a chain of thousands of fragments would overflow the stack. */
export function measureTree(document: DocumentNode, maxFragments: number): TreeSize {
  const bodies = new Map<string, SelectionSetNode>()
  const depths = new Map<SelectionSetNode, number>()
  let [aliases, directives, fragments] = [0, 0, 0]

  function depthOf(set: SelectionSetNode | undefined): number {
    if (!set) return 0
    const known = depths.get(set)
    if (known !== undefined) return known
    // A set that is visited again is part of a cycle, which validation reports.
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
        // Fields of an inline fragment belong to the enclosing selection set.
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
  if (fragments > maxFragments) return { depth: 0, aliases, directives, fragments }
  const depth = Math.max(...document.definitions.map((one) => ('selectionSet' in one ? depthOf(one.selectionSet) : 0)))
  return { depth, aliases, directives, fragments }
}

function responseName({ alias, name }: FieldNode): string {
  return (alias ?? name).value
}
