/**
 * Limits of an operation, the same on every transport, because all of them parse, validate and execute here. The text
 * is checked before parsing, the tree before validation, the cost before execution; rows and time during execution.
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
import { DomainError, errorCodes } from '../../../domain/errors.ts'
import { retryAfter } from '../../../platform/limits/admission.ts'
import { createRefuse, defaultLimits, type OperationLimits, type Refuse } from '../../../platform/limits/limits.ts'
import { isDeeperThan } from '../../../platform/limits/nesting.ts'
import { sizeOf } from '../../../platform/limits/size.ts'
import { short } from '../execution/errors.ts'
import { measureText, measureTree, type TextSize, type TreeSize } from './document-size.ts'
import { NoSubgraphSdlRule } from './hidden-schema.ts'
import { type Costing, costOf } from './operation-cost.ts'

/** GraphiQL's introspection has about 500 tokens. Nesting includes the brackets of values and types. */
export const maxText: TextSize = { tokens: 10_000, nesting: 64 }

/** Characters of a document. Values belong in variables. */
export const maxDocumentSize = 256 * 1024

/** A dashboard may alias fifty devices and repeat fifty fields. An attack needs thousands. */
export const maxTree: Omit<TreeSize, 'depth'> = { aliases: 100, directives: 100, fragments: 200 }

/** Rows of all lists of one response together, paged or not. Three nested pages of 100 rows would be a million. */
export const maxRows = 50_000

/** Characters of one response, as JSON. Serializing and sending it blocks the event loop about as long as one slice. */
export const maxAnswerSize = 8 * 1024 * 1024

/** Fragments with `@defer` and lists with `@stream` of one response, each counted for every object that has it. */
export const maxParts = 1_000

/** Failed fields of one response, each with its own error. */
export const maxErrors = 100

/** Errors reported for a document or for variables. */
export const maxReportedErrors = 20

/** Characters of all variables, as JSON. A full declareDeployments fits. */
export const maxVariableSize = 4 * 1024 * 1024

/** Nesting depth of variables. The deepest input type nests four levels. */
export const maxVariableDepth = 32

/** Bytes of an HTTP request body. A full declareDeployments fits. */
export const maxBodySize = 16 * 1024 * 1024

/** Bytes of one WebSocket message. */
export const maxMessageSize = 64 * 1024

/** Bytes sent to a WebSocket client that it has not read. */
export const maxUnread = 32 * 1024 * 1024

/** Concurrent operations on one WebSocket. Each subscription uses memory. */
export const maxOperationsPerSocket = 1_000

/** Characters of variables up to which several errors are reported: each error quotes the whole value. */
const quotedSize = 4 * 1024

/** Lines of a document up to which errors have a location: graphql counts all lines for each location. */
const locatedLines = 2_000

/** Characters of all cached documents. Their trees take about thirty times as much memory. */
const cachedText = 1024 * 1024

export interface DocumentLimits {
  /** Throws the error for the client. */
  parse(source: string | Source, options?: ParseOptions): DocumentNode
  /** Values that the response may contain, and their limit. */
  costOf(costing: Costing): { readonly value: number; readonly max: number }
  /** Called before execution. */
  checkCost(costing: Costing): DomainError | null
  /** Called before coercion. `errors`: the maximum number of coercion errors to report. */
  checkVariables(variables: unknown): { readonly refusal: DomainError | null; readonly errors: number }
  /** Runs one audit at a time per server, because an audit reads everything. */
  audit<Result>(work: () => Promise<Result>): Promise<Result>
  /** Milliseconds that an execution may take. */
  readonly time: number
  readonly refuse: Refuse
}

/** Per limit: its name in messages, and what to do. */
const messages: Readonly<Record<keyof TextSize | keyof TreeSize, readonly [string, string]>> = {
  tokens: ['tokens', 'split it, and send values as variables'],
  nesting: ['levels of brackets', 'reduce the nesting'],
  depth: ['levels of fields', 'query deeper objects by ID'],
  aliases: ['aliases and repeated fields', 'use a filter or several requests'],
  directives: ['directives', 'use several requests'],
  fragments: ['fragments and uses of them', 'use several requests'],
}

export function createDocumentLimits(
  { depth, cost, time }: OperationLimits = defaultLimits.operation,
  refuse: Refuse = createRefuse(),
): DocumentLimits {
  /** Throws on the first limit that is exceeded. */
  function require<Name extends keyof typeof messages>(found: Record<Name, number>, most: Record<Name, number>): void {
    for (const limit of Object.keys(most) as Name[]) {
      const { [limit]: max } = most
      const [what, advice] = messages[limit]
      if (found[limit] > max)
        throw asRefusal(refuse(limit, `the document has more than ${max} ${what}: ${advice}`, { max }))
    }
  }

  let isAuditing = false

  return {
    time,
    refuse,
    async audit(work) {
      if (isAuditing) throw refuse('audits', 'another audit is running: retry when it has finished')
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
        const message = `the document has ${length} characters; the limit is ${maxDocumentSize}: send values as variables`
        throw asRefusal(refuse('documentSize', message, { max: maxDocumentSize }))
      }
      const document = orBadSyntax(() => {
        require(measureText(source, maxText), maxText)
        return parse(source, isLongerThan(source.body, locatedLines) ? { ...options, noLocation: true } : options)
      })
      require(measureTree(document, maxTree.fragments), { depth, ...maxTree })
      return document
    },
    costOf: (costing) => ({ value: costOf(costing), max: cost }),
    checkCost(costing) {
      const found = costOf(costing)
      if (found <= cost) return null
      const message = `the response may contain ${found} values; the limit is ${cost}: request smaller pages or fewer fields`
      return refuse('cost', message, { max: cost })
    },
    checkVariables(variables) {
      const size = sizeOf(variables, maxVariableSize)
      if (size > maxVariableSize) {
        const message = `the variables have more than ${maxVariableSize} characters: split the request`
        return { refusal: refuse('variableSize', message, { max: maxVariableSize }), errors: 0 }
      }
      // graphql puts the whole value into each message before it is truncated.
      const errors = size > quotedSize ? 1 : maxReportedErrors
      if (!isDeeperThan(variables, maxVariableDepth)) return { refusal: null, errors }
      const message = `the variables nest deeper than ${maxVariableDepth} levels: reduce the nesting`
      return { refusal: refuse('variableDepth', message, { max: maxVariableDepth }), errors }
    },
  }
}

function isLongerThan(text: string, lines: number): boolean {
  const breaks = /[\n\r]/g
  let count = 0
  while (count <= lines && breaks.test(text)) count += 1
  return count > lines
}

/** Gives syntax errors over WebSockets the code that Yoga uses over HTTP. */
function orBadSyntax<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof GraphQLError) || error.extensions.code !== undefined) throw error
    const { message, source, positions } = short(error)
    const extensions = { code: 'GRAPHQL_PARSE_FAILED', http: { spec: true, status: 400 } }
    throw new GraphQLError(message, { source, positions, extensions })
  }
}

/** A refusal as a GraphQLError with its HTTP status. */
export function asRefusal({ code, message, facts }: DomainError): GraphQLError {
  const { status, retryable } = errorCodes[code]
  const headers = { 'Retry-After': String(retryAfter(facts)) }
  const http = { status, ...(status === 400 ? { spec: true } : {}), ...(retryable ? { headers } : {}) }
  return new GraphQLError(message, { extensions: { ...facts, code, ...(retryable ? { retryable } : {}), http } })
}

/** Converts a thrown DomainError into a refusal. */
export function orRefusal<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw error instanceof DomainError ? asRefusal(error) : error
  }
}

/** `introspection`: whether clients may read the whole schema. */
export function useLimits(limits: DocumentLimits, introspection: boolean): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn(limits.parse)
    },
    onValidate({ addValidationRule, setValidationFn }) {
      if (!introspection)
        for (const rule of [NoSchemaIntrospectionCustomRule, NoSubgraphSdlRule]) addValidationRule(rule)
      // "Did you mean" suggestions would reveal the schema name by name.
      const options = { maxErrors: maxReportedErrors, hideSuggestions: !introspection }
      setValidationFn((schema, document, rules) =>
        validate(schema, document, rules, options).map(short).map(withoutFrames),
      )
    },
  }
}

/**
 * Yoga keeps the errors of a document. Until the text of an error's stack is made, V8 keeps the functions of its frames, and with them all
 * that the validation of the document has collected: 0.1 MB for each document.
 */
function withoutFrames(error: GraphQLError): GraphQLError {
  void error.stack
  return error
}

/** Yoga's caches of parsed and validated documents, bounded so that large documents cannot fill the memory. */
export function documentCaches() {
  const sizeCalculation = (_: unknown, text: string): number => text.length + 1
  return {
    documentCache: new LRUCache<string, DocumentNode>({ maxSize: cachedText, sizeCalculation }),
    // Errors are not cached: refusing is cheap, and each refusal must be counted.
    errorCache: { get: () => undefined, set: () => undefined },
  }
}
