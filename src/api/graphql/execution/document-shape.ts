/**
 * The shape of an operation: its document without what cannot affect the result. Operations with equal shapes and
 * variables have equal results, so their subscribers share executions. Left out: formatting, comments, the operation's
 * name, other operations, the names of variables and fragments, the order of arguments. Only the locations in errors
 * depend on the rest of the text.
 */
import { createHash } from 'node:crypto'
import {
  type ArgumentNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  getOperationAST,
  Kind,
  type NameNode,
  type OperationDefinitionNode,
  print,
  visit,
} from 'graphql'

interface Shape {
  /** A hash: documents may be large. */
  readonly hash: string
  /** The operation's variables, in the order of their definitions. */
  readonly variables: readonly string[]
}

const shapes = new WeakMap<DocumentNode, Map<string | null | undefined, Shape>>()

/** For a valid document with that operation. */
export function shapeOf(document: DocumentNode, operationName: string | null | undefined): Shape {
  const known = shapes.get(document)?.get(operationName)
  if (known) return known
  const shape = createShape(document, operationName)
  const ofDocument = shapes.get(document) ?? new Map()
  shapes.set(document, ofDocument.set(operationName, shape))
  return shape
}

function createShape(document: DocumentNode, operationName: string | null | undefined): Shape {
  const operation = getOperationAST(document, operationName)
  if (!operation) throw new Error('the document has no such operation')
  const definitions = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) definitions.set(definition.name.value, definition)
  const variables = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value)
  const fragments: string[] = []
  /** Numbers the fragments by their first use. */
  const fragmentNumber = (name: string): number => {
    const index = fragments.indexOf(name)
    return index >= 0 ? index : fragments.push(name) - 1
  }
  const normalize = <Node extends OperationDefinitionNode | FragmentDefinitionNode>(node: Node): Node =>
    visit(node, {
      [Kind.OPERATION_DEFINITION]: ({ name: _, description: __, ...rest }) => rest,
      [Kind.FRAGMENT_DEFINITION]: (own) => ({ ...own, name: named(own.name, `F${fragmentNumber(own.name.value)}`) }),
      [Kind.FRAGMENT_SPREAD]: (own) => ({ ...own, name: named(own.name, `F${fragmentNumber(own.name.value)}`) }),
      [Kind.VARIABLE]: (own) => ({ ...own, name: named(own.name, `v${variables.indexOf(own.name.value)}`) }),
      [Kind.FIELD]: (own) =>
        own.arguments?.length ? { ...own, arguments: own.arguments.toSorted(byName) } : undefined,
    })
  let text = print(normalize(operation))
  // A fragment may use further ones, which are appended meanwhile.
  for (const name of fragments) {
    const definition = definitions.get(name)
    if (definition) text += `\n${print(normalize(definition))}`
  }
  return { hash: createHash('sha256').update(text).digest('base64url'), variables }
}

function named(node: NameNode, value: string): NameNode {
  return { ...node, value }
}

function byName(a: ArgumentNode, b: ArgumentNode): number {
  return a.name.value < b.name.value ? -1 : 1
}
