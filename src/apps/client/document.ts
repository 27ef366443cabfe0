/** A GraphQL document: its text, or what code generators make of it, with the types of its answer and its variables. */

/** What TypedDocumentNode, TypedDocumentString and gql.tada's documents have in common. */
interface Typed<Data, Variables> {
  readonly __apiType?: (variables: Variables) => Data
}

export type Document<Data, Variables> = string | (Typed<Data, Variables> & object)

/** A document that is neither a text nor has one, as GraphQL Code Generator makes them, needs `print` of the package graphql, of any version. */
export type Print = (document: never) => string

export function textOf(document: Document<unknown, never> | object, print?: Print): string {
  if (typeof document === 'string' || document instanceof String) return String(document)
  const { loc } = document as { readonly loc?: { readonly source?: { readonly body?: string } } }
  const text = print ? print(document as never) : loc?.source?.body
  if (text === undefined) throw new TypeError("this document has no text: pass `print` of 'graphql' to connect()")
  return text
}

/** Variables may be left out where there are none. */
export type Given<Variables, Options> =
  Readonly<Record<never, never>> extends Variables
    ? [variables?: Variables, options?: Options]
    : [variables: Variables, options?: Options]
