/** Documents are strings at run time. The type check derives their result types from schema.graphql. */
import type { initGraphQLTada, TadaDocumentNode } from 'gql.tada'
import type { introspection } from '../schema.d.ts'

type Tada = initGraphQLTada<{
  introspection: introspection
  disableMasking: true
  scalars: { DateTime: string; Revision: string; JSON: unknown }
}>

/** A document, followed by the fragments that it uses, each once. */
export function compose(source: string, fragments: readonly string[] = []): string {
  return [...new Set([source, ...fragments].flatMap((text) => text.split(seam)))].join(seam)
}

export const graphql = compose as unknown as Tada

const seam = '\n#\n'

export type Document<Answer, Variables> = TadaDocumentNode<Answer, Variables>

export type { FragmentOf, ResultOf, VariablesOf } from 'gql.tada'
