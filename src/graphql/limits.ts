/**
 * What an operation may cost: the same on every transport, because all of them parse, validate and execute here. Before it is
 * parsed its text is measured, before it is validated its tree, before it is executed its cost; while it is executed, rows and time.
 */
import {
  type DocumentNode,
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  type ParseOptions,
  parse,
  Source,
  validate,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { DomainError, errorCodes } from '../domain/errors.ts'
import { retryAfter } from '../limits/gate.ts'
import { createRefuse, defaultLimits, type OperationLimits, type Refuse } from '../limits/limits.ts'
import { isDeeperThan } from '../limits/nesting.ts'
import { measureText, measureTree, type TextSize, type TreeSize } from './document-size.ts'
import { type Costing, costOf } from './operation-cost.ts'

/** GraphiQL's introspection has about 500 tokens. Nesting also counts the brackets of values and types. */
export const maxText: TextSize = { tokens: 10_000, nesting: 64 }

/** Characters of a document; values belong into variables. */
export const maxDocumentSize = 256 * 1024

/** A board asks fifty devices by aliases, and fifty fields twice; an attack needs thousands. */
export const maxTree: Omit<TreeSize, 'depth'> = { aliases: 100, directives: 100, fragments: 200 }

/** Rows of all connections of one answer together: a hundred in each of a hundred in each of a hundred are a million. */
export const maxRows = 50_000

/** How deep variables may nest; the deepest input there is nests four levels. */
export const maxVariableDepth = 32

/** Bytes of an HTTP request's body: a full declareDeployments fits. */
export const maxBodySize = 16 * 1024 * 1024

/** Bytes of one WebSocket message. */
export const maxMessageSize = 64 * 1024

/** Bytes that a WebSocket's peer has been told and has not read. */
export const maxUnread = 32 * 1024 * 1024

/** Operations under way on one WebSocket: each holds a subscription, and so memory. */
export const maxOperationsPerSocket = 1_000

/** Characters of all documents that are kept parsed: their trees take some thirty times as much. */
const cachedText = 1024 * 1024

export interface DocumentLimits {
  /** Throws what the client is told. */
  parse(source: string | Source, options?: ParseOptions): DocumentNode
  /** Before anything is executed. */
  checkCost(costing: Costing): DomainError | null
  checkVariables(variables: unknown): DomainError | null
  /** One at a time on this server, because it reads everything. */
  audit<Result>(work: () => Promise<Result>): Promise<Result>
  /** Milliseconds that an execution may take. */
  readonly time: number
  readonly refuse: Refuse
}

/** How each is said, and what to do about it. */
const words: Readonly<Record<keyof TextSize | keyof TreeSize, readonly [string, string]>> = {
  tokens: ['tokens', 'send it in parts, and values as variables'],
  nesting: ['levels of brackets', 'nest less'],
  depth: ['levels of fields', 'ask for what is deeper by its id'],
  aliases: ['aliases and repeated fields', 'ask for many by a filter, or in several requests'],
  directives: ['directives', 'ask in several requests'],
  fragments: ['fragments and uses of them', 'ask in several requests'],
}

export function createDocumentLimits(
  { depth, cost, time }: OperationLimits = defaultLimits.operation,
  refuse: Refuse = createRefuse(),
): DocumentLimits {
  /** Throws on the first limit that is exceeded. */
  function require<Name extends keyof typeof words>(found: Record<Name, number>, most: Record<Name, number>): void {
    for (const limit of Object.keys(most) as Name[]) {
      const { [limit]: max } = most
      const [what, advice] = words[limit]
      if (found[limit] > max)
        throw asRefusal(refuse(limit, `the document has more than ${max} ${what}: ${advice}`, { max }))
    }
  }

  let isAuditing = false

  return {
    time,
    refuse,
    async audit(work) {
      if (isAuditing) throw refuse('audits', 'an audit is under way already: ask again when it is over')
      isAuditing = true
      try {
        return await work()
      } finally {
        isAuditing = false
      }
    },
    parse(given, options) {
      const source = typeof given === 'string' ? new Source(given) : given
      const { length } = source.body
      if (length > maxDocumentSize) {
        const message = `the document has ${length} characters, but at most ${maxDocumentSize} are taken: send values as variables`
        throw asRefusal(refuse('documentSize', message, { max: maxDocumentSize }))
      }
      const document = orBadSyntax(() => {
        require(measureText(source, maxText), maxText)
        return parse(source, options)
      })
      require(measureTree(document, maxTree.fragments), { depth, ...maxTree })
      return document
    },
    checkCost(costing) {
      const found = costOf(costing)
      if (found <= cost) return null
      const message = `the answer may hold ${found} values, but at most ${cost} are given at once: ask for smaller pages or in parts`
      return refuse('cost', message, { max: cost })
    },
    checkVariables(variables) {
      if (!isDeeperThan(variables, maxVariableDepth)) return null
      const message = `the variables nest deeper than ${maxVariableDepth} levels: no input does`
      return refuse('variableDepth', message, { max: maxVariableDepth })
    },
  }
}

/** The same over WebSockets as Yoga says it over HTTP. */
function orBadSyntax<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof GraphQLError) || error.extensions.code !== undefined) throw error
    const { message, source, positions } = error
    const extensions = { code: 'GRAPHQL_PARSE_FAILED', http: { spec: true, status: 400 } }
    throw new GraphQLError(message, { source, positions, extensions })
  }
}

/** A refusal as GraphQL says it, with the HTTP status that belongs to it. */
export function asRefusal({ code, message, facts }: DomainError): GraphQLError {
  const { status, retryable } = errorCodes[code]
  const headers = { 'Retry-After': String(retryAfter(facts)) }
  const http = { status, ...(status === 400 ? { spec: true } : {}), ...(retryable ? { headers } : {}) }
  return new GraphQLError(message, { extensions: { ...facts, code, ...(retryable ? { retryable } : {}), http } })
}

/** What throws a DomainError here throws a refusal. */
export function orRefusal<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw error instanceof DomainError ? asRefusal(error) : error
  }
}

/** Whether strangers may read the whole schema: it is public, but a private fleet's fields are nobody's business. */
export function useLimits(limits: DocumentLimits, introspection: boolean): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn(limits.parse)
    },
    onValidate({ addValidationRule, setValidationFn }) {
      if (introspection) return
      addValidationRule(NoSchemaIntrospectionCustomRule)
      // "Did you mean" would tell it name by name.
      setValidationFn((schema, document, rules) => validate(schema, document, rules, { hideSuggestions: true }))
    },
  }
}

/** What was parsed and found valid, or not: whoever sends many different large documents does not fill the memory. */
export function documentCaches() {
  const sizeCalculation = (_: unknown, text: string): number => text.length + 1
  return {
    documentCache: new LRUCache<string, DocumentNode>({ maxSize: cachedText, sizeCalculation }),
    // What is refused is refused quickly, and counted each time.
    errorCache: { get: () => undefined, set: () => undefined },
  }
}
