/** Executes queries and mutations for all transports. Each has one context and one snapshot, closed at its end. */
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type SelectionNode,
  TypeInfo,
  type ValidatedExecutionArgs,
  validateExecutionArgs,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import type { Principal } from '../../../domain/principal.ts'
import type { Revision } from '../../../domain/values.ts'
import type { LogHead } from '../../../store/database.ts'
import { accessOf, refuseOperation } from '../guards/access.ts'
import { asRefusal } from '../guards/limits.ts'
import { refuseParts } from '../guards/parts-arguments.ts'
import { type ContextDeps, type ContextOptions, createContext } from './context.ts'
import { executeInParts, executeWithin, isInParts } from './execute-within.ts'
import type { PartsFormat } from './executor.ts'
import { type Parts, partsOf } from './parts.ts'

/** By document: whether its responses depend on the log head alone. */
const checked = new WeakMap<DocumentNode, boolean>()

/** Types without revisions. Fields of `node` reach them, and so does a `node` that is asked for nothing but its ID. */
const managed: ReadonlySet<string> = new Set(['Sink', 'Delivery', 'ApiKey'])
const isFragment = ({ kind }: SelectionNode): boolean => kind !== Kind.FIELD

/** Whether responses depend on the log head alone. This holds for all queries that viewers may run. */
function dependsOnHeadOnly(schema: GraphQLSchema, document: DocumentNode): boolean {
  const known = checked.get(document)
  if (known !== undefined) return known
  let isOnly = true
  const types = new TypeInfo(schema)
  const query = schema.getQueryType()
  visit(
    document,
    visitWithTypeInfo(types, {
      [Kind.FIELD](node) {
        const name = types.getParentType()?.name ?? ''
        const isBareNode =
          ['node', 'nodes', '_entities'].includes(node.name.value) && !node.selectionSet?.selections.some(isFragment)
        if (managed.has(name) || (types.getParentType() === query && isBareNode)) isOnly = false
        if (
          types.getParentType() === query &&
          node.name.value !== '__typename' &&
          accessOf(types.getFieldDef()) !== 'viewer'
        )
          isOnly = false
      },
    }),
  )
  checked.set(document, isOnly)
  return isOnly
}

interface ExecuteOptions extends Pick<ContextOptions, 'enter' | 'address' | 'traceparent' | 'whose' | 'onGone'> {
  /** What a query must include, from a client that knows what it has seen. Null: the present. */
  readonly atLeast?: Revision | null
  /** How its client takes what comes later. Null: not at all. */
  readonly parts?: PartsFormat | null
}

interface Executed {
  readonly result: ExecutionResult
  /** If the result depends on this log head alone: it stays valid until the head moves. */
  readonly head: LogHead | null
  /** The revision that the result includes. Null: nothing was read or written. */
  readonly revision: Revision | null
  /** What comes later. Its snapshot is open until it is followed to its end. Null: the result is whole. */
  readonly parts: Parts | null
}

export async function executeOperation(
  deps: ContextDeps,
  args: ExecutionArgs,
  principal: Principal,
  options: ExecuteOptions = {},
): Promise<Executed> {
  const refusals = refuseOperation(args.schema, args.document, principal)
  if (refusals.length > 0) return { result: { errors: refusals }, head: null, revision: null, parts: null }
  const isQuery = getOperationAST(args.document, args.operationName)?.operation === 'query'
  // Data outside revisions is read from the primary: a revision does not say whether a standby has it.
  const isOfHead = isQuery && dependsOnHeadOnly(args.schema, args.document)
  const { atLeast, onGone, parts: format = null, ...own } = options
  // A mutation goes on without its client: half of its writes would be a result that no client asked for.
  const context = { ...own, principal, onGone: isQuery ? onGone : undefined }
  const freshness = isOfHead ? (atLeast ?? 'present') : 'primary'
  const executed = await execute(deps, args, { ...context, freshness }, format)
  if (executed.isStandbyLost) executed.parts?.end()
  const { result, head, revision, parts } = executed.isStandbyLost
    ? await execute(deps, args, context, format)
    : executed
  return { result, head: isOfHead && !result.errors && !parts ? head : null, revision, parts }
}

interface Attempt extends Executed {
  readonly isStandbyLost: boolean
}

async function execute(
  deps: ContextDeps,
  args: ExecutionArgs,
  options: ContextOptions,
  format: PartsFormat | null,
): Promise<Attempt> {
  const context = createContext(deps, options)
  let parts: Parts | null = null
  try {
    const validated = validateWithin(deps, args, (own) => validateExecutionArgs({ ...own, contextValue: context }))
    if (!('schema' in validated)) return { result: validated, head: null, revision: null, parts, isStandbyLost: false }
    const isWriting = validated.operation.operation === 'mutation'
    const made = await (format ? executeInParts(context, validated, format) : executeWithin(context, validated))
    const result: ExecutionResult = isInParts(made) ? made.initialResult : made
    if (format && isInParts(made)) parts = partsOf(context, made, format)
    // If there is no snapshot, the result has that error.
    const head = await context.head().catch(() => null)
    const revision = isWriting ? Math.max(deps.writer.newest, head?.revision ?? 0) : (head?.revision ?? null)
    return {
      result,
      head,
      revision,
      parts,
      isStandbyLost: result.errors !== undefined && (await context.isStandbyLost()),
    }
  } finally {
    if (!parts) {
      const closing = context.close()
      if (!context.signal().aborted) await closing
    }
  }
}

/** Checks that depend on variables run here, per request, and not with the document, which is cached. */
export function validateWithin<Validated extends ValidatedExecutionArgs>(
  { limits }: ContextDeps,
  args: ExecutionArgs,
  validate: (args: ExecutionArgs) => Validated | readonly GraphQLError[],
): Validated | { readonly errors: readonly GraphQLError[] } {
  const { refusal, errors } = limits.checkVariables(args.variableValues)
  if (refusal) return { errors: [asRefusal(refusal)] }
  const validated = validate({ ...args, options: { maxCoercionErrors: errors } })
  if (!('schema' in validated)) return { errors: validated.map(asBadInput) }
  const wrongParts = refuseParts(validated)
  if (wrongParts) return { errors: [asBadInput(wrongParts)] }
  const tooCostly = limits.checkCost(validated)
  return tooCostly ? { errors: [asRefusal(tooCostly)] } : validated
}

/** A wrong operation name or variable is the client's error: 400, not 500. */
function asBadInput(error: GraphQLError): GraphQLError {
  const extensions = { code: 'BAD_USER_INPUT', ...error.extensions, http: { spec: true, status: 400 } }
  return new GraphQLError(error.message, {
    nodes: error.nodes,
    source: error.source,
    positions: error.positions,
    path: error.path,
    extensions,
  })
}
