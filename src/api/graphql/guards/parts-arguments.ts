/**
 * What graphql takes for granted of `@defer` and `@stream`, and does not check where variables give the values: it would fail with an error that is no
 * answer for the client.
 */
import {
  type ConstDirectiveNode,
  type DirectiveNode,
  type FragmentDefinitionNode,
  GraphQLDeferDirective,
  GraphQLError,
  GraphQLStreamDirective,
  getDirectiveValues,
  Kind,
  type OperationDefinitionNode,
  type ValidatedExecutionArgs,
  visit,
} from 'graphql'

const kinds = { defer: GraphQLDeferDirective, stream: GraphQLStreamDirective } as const

/** By operation: most have none. */
const found = new WeakMap<OperationDefinitionNode, readonly DirectiveNode[]>()

/** Null: they can be executed. */
export function refuseParts(
  args: Pick<ValidatedExecutionArgs, 'operation' | 'fragmentDefinitions' | 'variableValues'>,
): GraphQLError | null {
  const { operation, fragmentDefinitions, variableValues } = args
  const nodes = found.get(operation) ?? directivesIn(operation, Object.values(fragmentDefinitions))
  found.set(operation, nodes)
  for (const node of nodes) {
    const kind = kinds[node.name.value as keyof typeof kinds]
    const given = getDirectiveValues(kind, { directives: [node] }, variableValues)
    if (!given || given.if === false) continue
    const refuse = (message: string): GraphQLError => new GraphQLError(`@${kind.name}${message}`, { nodes: node })
    if (operation.operation === 'subscription') return refuse(' is not possible in a subscription')
    if (Number(given.initialCount ?? 0) < 0) return refuse('(initialCount:) must be at least 0')
  }
  return null
}

function directivesIn(
  operation: OperationDefinitionNode,
  fragments: readonly FragmentDefinitionNode[],
): readonly DirectiveNode[] {
  const nodes: (DirectiveNode | ConstDirectiveNode)[] = []
  for (const definition of [operation, ...fragments])
    visit(definition, {
      [Kind.DIRECTIVE](node) {
        if (Object.hasOwn(kinds, node.name.value)) nodes.push(node)
      },
    })
  return nodes
}
