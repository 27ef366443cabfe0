/** Reads untrusted YAML: one document of plain values, in a time that its size bounds. */
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
} from 'yaml'
import { complain, type Problems, shown } from '../../../platform/body/problems.ts'
import type { Paced } from '../../../platform/limits/pace.ts'

/**
 * About four tokens a line of block style. Parsing pauses between tokens, but the library composes a document without a pause, which takes
 * a millisecond for a thousand tokens.
 */
const mostTokens = 64_000
/** Tokens between two pauses. Each line of a long text counts as one, because the library folds a text of 250,000 lines in 90 ms, without a pause. */
const stride = 500
/** Commas without a value before them. The first makes the document invalid, but the library makes an error of each while it composes. */
const mostEmpty = 100
const deepest = 64
const tooDeep = `must not be nested deeper than ${deepest} levels`
const mostAliases = 100

/** Problems of the text as a whole have the empty field. Undefined: there are problems. `intAsBigInt`: integers keep all their digits. */
export function* readYaml(
  problems: Problems,
  text: string,
  options: { readonly intAsBigInt?: boolean; readonly mostTokens?: number } = {},
): Paced<unknown> {
  const { mostTokens: most = mostTokens, ...reading } = options
  const lines = new LineCounter()
  const documents = yield* compose(problems, text, lines, most, reading)
  if (documents === undefined) return undefined
  yield
  const [document, second] = documents
  const fault = faultOf(document, lines)
  if (fault !== null) complain(problems, '', fault)
  else if (second !== undefined) complain(problems, '', 'must be one YAML document, but has several')
  else if (document !== undefined && isSound(problems, document.contents)) {
    yield
    return toValue(problems, document)
  }
  return undefined
}

function linesOf(lexeme: string): number {
  let lines = 0
  for (let at = lexeme.indexOf('\n'); at >= 0; at = lexeme.indexOf('\n', at + 1)) lines += 1
  return lines
}

/** Undefined: the text is too long, or has too many errors of one kind. */
function* compose(
  problems: Problems,
  text: string,
  lines: LineCounter,
  most: number,
  reading: { readonly intAsBigInt?: boolean },
): Paced<readonly Document.Parsed[] | undefined> {
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  // Merge keys were removed from YAML 1.2, but YAML readers on devices know them. Repeated keys are checked below: Composer compares every pair.
  const composer = new Composer({
    ...reading,
    lineCounter: lines,
    merge: true,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
  })
  const documents: Document.Parsed[] = []
  let [tokens, paused, empty, before] = [0, 0, 0, '']
  for (const lexeme of new Lexer().lex(text)) {
    tokens += Math.max(1, linesOf(lexeme))
    if (lexeme === ',' && ['[', '{', ','].includes(before)) empty += 1
    if (lexeme.trim() !== '') before = lexeme
    if (empty > mostEmpty) {
      complain(problems, '', 'is not valid YAML: it has commas without a value before them')
      return undefined
    }
    if (tokens > most) {
      complain(problems, '', `must have at most ${most} words and marks, as YAML counts them`)
      return undefined
    }
    for (const token of parser.next(lexeme)) documents.push(...composer.next(token))
    if (tokens - paused < stride) continue
    paused = tokens
    yield
  }
  for (const token of parser.end()) documents.push(...composer.next(token))
  documents.push(...composer.end(true))
  return documents
}

/** What the library found to be wrong. Null: nothing. */
function faultOf(document: Document.Parsed | undefined, lines: LineCounter): string | null {
  const faults = [...(document?.errors ?? []), ...(document?.warnings ?? [])]
  // The library composes nested values by recursion, until the stack is full.
  if (faults.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) return tooDeep
  const [fault] = faults
  if (fault === undefined) return null
  const { line, col } = lines.linePos(Math.max(0, fault.pos[0]))
  return `is not valid YAML, at line ${line}, column ${col}: ${fault.message.trim()}`
}

function toValue(problems: Problems, document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: mostAliases })
  } catch (cause) {
    // An alias without an anchor, or one that expands beyond the parser's limit.
    complain(problems, '', `cannot be read: ${cause instanceof Error ? cause.message : cause}`)
    return undefined
  }
}

/** Refuses repeated keys, values that contain themselves, and deep nesting. */
function isSound(problems: Problems, contents: Node | null): boolean {
  const before = problems.list?.length ?? 0
  checkNode({ problems, open: new Set() }, contents, '', 0)
  return (problems.list?.length ?? 0) === before
}

/** `open`: the anchors of the values that contain this one. */
function checkNode(
  checked: { readonly problems: Problems; readonly open: Set<string> },
  node: unknown,
  where: string,
  depth: number,
): void {
  const { problems, open } = checked
  if (isAlias(node) && open.has(node.source))
    complain(problems, where, `must not contain itself, as *${node.source} says`)
  if (!isMap(node) && !isSeq(node)) return
  if (depth === deepest) {
    complain(problems, where, tooDeep)
    return
  }
  if (node.anchor !== undefined) open.add(node.anchor)
  const keys = new Set<string>()
  for (const [index, item] of node.items.entries()) {
    const key = isPair(item) ? keyOf(item) : null
    const path = key === null ? `${where}[${index}]` : join(where, key)
    if (key !== null && keys.has(key)) complain(problems, path, 'must not be repeated')
    if (key !== null) keys.add(key)
    checkNode(checked, isPair(item) ? item.value : item, path, depth + 1)
  }
  if (node.anchor !== undefined) open.delete(node.anchor)
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : '')
}

/** Dotted, with unusual keys in brackets: `spec.parameters["a b"].targets[0]`. */
export function join(where: string, key: string): string {
  if (!/^[\w$/-]{1,64}$/.test(key)) return `${where}[${shown(key)}]`
  return where === '' ? key : `${where}.${key}`
}
