/** Where introspection is disabled: refuses the schema as Apollo Federation reads it. graphql's rule knows the fields of introspection only. */
import { type ASTVisitor, GraphQLError, type ValidationContext } from 'graphql'

export function NoSubgraphSdlRule(context: ValidationContext): ASTVisitor {
  return {
    Field(node) {
      if (context.getParentType()?.name !== '_Service' || node.name.value !== 'sdl') return
      const message = '_service.sdl is hidden, because introspection is disabled (INTROSPECTION)'
      context.reportError(new GraphQLError(message, { nodes: node }))
    },
  }
}
