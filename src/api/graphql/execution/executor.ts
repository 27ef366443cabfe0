/**
 * graphql's executor with five additions: it charges a budget, yields to the event loop, can be stopped, leaves no
 * rejection unhandled, and keeps its plan for the next event of a subscription. It overrides
 * the methods that complete values, because they see every list and field, including introspection; wrapped resolvers
 * would not. The classes are internal to graphql, whose version is pinned. test/graphql/execution/executor.test.ts fails if a new
 * version behaves differently. What `@defer` and `@stream` leave for later is executed by further executors, of the same budget.
 */
import {
  AbortedGraphQLExecutionError,
  type ExecutionResult,
  type ExperimentalIncrementalExecutionResults,
  type FieldNode,
  GraphQLError,
  type GraphQLLeafType,
  type GraphQLObjectType,
  getNullableType,
  isListType,
  type ValidatedExecutionArgs,
} from 'graphql'
import { collectSubfields } from 'graphql/execution/collectFields.js'
import { createSharedExecutionContext } from 'graphql/execution/createSharedExecutionContext.js'
import { Executor } from 'graphql/execution/Executor.js'
import type { DeferUsageSet } from 'graphql/execution/incremental/buildExecutionPlan.js'
import { IncrementalExecutor } from 'graphql/execution/incremental/IncrementalExecutor.js'
import {
  BranchingIncrementalExecutor,
  type LegacyExperimentalIncrementalExecutionResults,
} from 'graphql/execution/legacyIncremental/BranchingIncrementalExecutor.js'
import { sizeOf } from '../../../platform/limits/size.ts'
import { maxAnswerSize } from '../guards/limits.ts'
import type { Budget } from './budget.ts'

export interface Metering {
  readonly budget: Budget
  /** Called with the number of fields before an object is executed. Returns a promise if execution must yield. */
  readonly turn: (fields: number) => Promise<void> | undefined
}

/**
 * The fields of each selection, by the node of its field and its type. graphql's own memory makes three WeakMaps for each
 * selection of each execution: an event of a small operation costs 0.77 to 0.89 of that with a plan that is kept. Valid
 * for executions of one operation with the same variables.
 */
export type SelectionPlan = Map<FieldNode, Map<GraphQLObjectType, Selection>>

type Selection = ReturnType<typeof collectSubfields>

/**
 * How a client takes what comes later. Null: not at all, and the directives have no effect.
 *
 *   ids    the present draft of the specification: `pending`, and parts with an ID
 *   paths  the draft of 2022, which Apollo's clients take: parts with a path
 */
export type PartsFormat = 'ids' | 'paths'

/** A first result, and what comes later. */
export type InParts = ExperimentalIncrementalExecutionResults | LegacyExperimentalIncrementalExecutionResults

export interface Execution<Result = ExecutionResult> {
  readonly result: Result | Promise<Result>
  /** Stops the execution. */
  readonly stop: (reason: unknown) => void
}

/** The arguments of an execution and of those for its parts. */
interface MeteredArgs extends ValidatedExecutionArgs {
  readonly metering: Metering
  readonly plan: SelectionPlan
}

/** Executes an operation, or one event of a subscription. `plan`: from an earlier event. */
export function startExecution(
  args: ValidatedExecutionArgs,
  metering: Metering,
  plan: SelectionPlan = new Map(),
): Execution {
  return start(new WholeExecutor(meteredArgs(args, metering, plan), sharedContext()), metering)
}

/** Executes an operation for a client that takes parts. */
export function startInParts(
  args: ValidatedExecutionArgs,
  metering: Metering,
  format: PartsFormat,
): Execution<ExecutionResult | InParts> {
  const own = meteredArgs(args, metering, new Map())
  const PartsExecutor = format === 'ids' ? IdsExecutor : PathsExecutor
  return start<ExecutionResult | InParts>(new PartsExecutor(own, sharedContext()), metering)
}

const meteredArgs = (args: ValidatedExecutionArgs, metering: Metering, plan: SelectionPlan): MeteredArgs => ({
  ...args,
  metering,
  plan,
})

// No resolver asks graphql for a signal: reads have their context's. To make one and to abort it costs as much as a small query's execution.
const sharedContext = () => createSharedExecutionContext(undefined)

interface Startable<Result> {
  executeRootSelectionSet(): Result | Promise<Result>
  abort(reason: unknown): void
}

function start<Result>(executor: Startable<Result>, metering: Metering): Execution<Result | ExecutionResult> {
  function exceeded(error: unknown): ExecutionResult {
    const excess = metering.budget.excess()
    if (!excess || !(error instanceof AbortedGraphQLExecutionError)) throw error
    return { data: null, errors: [new GraphQLError(excess.message, { originalError: excess })] }
  }

  function execute(): Result | ExecutionResult | Promise<Result | ExecutionResult> {
    try {
      const result = executor.executeRootSelectionSet()
      return result instanceof Promise ? result.catch(exceeded) : result
    } catch (error) {
      return exceeded(error)
    }
  }

  return { result: execute(), stop: (reason) => executor.abort(reason) }
}

// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires it of a class that extends a parameter.
type Base<Instance> = new (...given: any[]) => Instance
type Given<Method extends keyof Executor> = Executor[Method] extends (...given: infer All) => unknown ? All : never
type Fields = Given<'executeFields'>
type List = Given<'completeListValue'>
type Subfields = Given<'collectAndExecuteSubfields'>

/** Characters of a field in the response besides its value: name, quotes, colon, comma. */
const leafOverhead = 16

/** Methods that run per object, list or value name their parameters: rest parameters cost as much as the metering. */
function metered<Of extends Base<Executor<unknown, unknown>>>(Executing: Of) {
  return class extends Executing {
    get #metering(): Metering {
      return (this.validatedExecutionArgs as MeteredArgs).metering
    }

    override collectAndExecuteSubfields(
      type: Subfields[0],
      details: Subfields[1],
      path: Subfields[2],
      value: Subfields[3],
      position: Subfields[4],
    ) {
      const [only] = details
      // A field that is selected several times merges their selections.
      if (!only || details.length > 1 || only.fragmentVariableValues || only.deferUsage)
        return super.collectAndExecuteSubfields(type, details, path, value, position)
      const { groupedFieldSet, newDeferUsages } = this.#selectionOf(only.node, type, details)
      return this.executeCollectedSubfields(type, value, path, groupedFieldSet, newDeferUsages, position)
    }

    #selectionOf(node: FieldNode, type: GraphQLObjectType, details: Subfields[1]): Selection {
      const { plan } = this.validatedExecutionArgs as MeteredArgs
      const known = plan.get(node)?.get(type)
      if (known) return known
      const { schema, fragments, variableValues, hideSuggestions } = this.validatedExecutionArgs
      const selection = collectSubfields(schema, fragments, variableValues, type, details, hideSuggestions)
      const ofNode = plan.get(node) ?? new Map<GraphQLObjectType, Selection>()
      plan.set(node, ofNode.set(type, selection))
      return selection
    }

    override executeFields(
      type: Fields[0],
      source: Fields[1],
      path: Fields[2],
      fields: Fields[3],
      position: Fields[4],
    ) {
      const turn = this.#metering.turn(fields.size)
      if (turn === undefined) return super.executeFields(type, source, path, fields, position)
      return turn.then(() => {
        if (this.aborted) throw new Error('the operation has ended')
        return super.executeFields(type, source, path, fields, position)
      })
    }

    override completeListValue(
      type: List[0],
      details: List[1],
      info: List[2],
      path: List[3],
      items: List[4],
      position: List[5],
    ) {
      try {
        if (Array.isArray(items)) this.#metering.budget.rows(items.length)
      } catch (error) {
        attended(items)
        throw error
      }
      return super.completeListValue(type, details, info, path, items, position)
    }

    override completeLeafValue(type: GraphQLLeafType, value: unknown): unknown {
      const leaf = super.completeLeafValue(type, value)
      const size = typeof leaf === 'string' ? leaf.length : typeof leaf === 'object' ? sizeOf(leaf, maxAnswerSize) : 0
      this.#metering.budget.characters(size + leafOverhead)
      return leaf
    }

    /** An exceeded budget is not an error of one field: it ends the whole operation. */
    override handleFieldError(...given: Given<'handleFieldError'>): void {
      const { budget } = this.#metering
      if (!budget.excess()) budget.failed()
      const excess = budget.excess()
      if (excess) {
        this.abort(excess)
        throw excess
      }
      super.handleFieldError(...given)
    }

    /** After a sibling fails, graphql drops a promised list, and rejections in that list would be unhandled. */
    override completePromisedValue(...[type, details, info, path, result, position]: Given<'completePromisedValue'>) {
      const value = isListType(getNullableType(type)) ? result.then(attended) : result
      return super.completePromisedValue(type, details, info, path, value, position)
    }

    override completePromisedListItemValue(
      ...[item, type, details, info, path, position]: Given<'completePromisedListItemValue'>
    ) {
      const value = isListType(getNullableType(type)) ? item.then(attended) : item
      return super.completePromisedListItemValue(value, type, details, info, path, position)
    }
  }
}

class WholeExecutor extends metered(Executor) {}

/** What comes later is executed by executors of the same class, and each part is counted. */
function inParts<Of extends Base<IncrementalExecutor<unknown>>>(Executing: Of) {
  return class InParts extends metered(Executing) {
    override getCreateSubExecutor() {
      return (uses?: DeferUsageSet) => new InParts(this.validatedExecutionArgs, this.sharedExecutionContext, uses)
    }
    override getNewDeliveryGroupMap(...given: Groups) {
      countParts(this.validatedExecutionArgs, given[0].length)
      return super.getNewDeliveryGroupMap(...given)
    }
    override handleStream(...given: Streams) {
      countParts(this.validatedExecutionArgs, 1)
      return super.handleStream(...given)
    }
  }
}

class IdsExecutor extends inParts(IncrementalExecutor) {}

class PathsExecutor extends inParts(BranchingIncrementalExecutor) {}

type Groups = Parameters<IncrementalExecutor['getNewDeliveryGroupMap']>
type Streams = Parameters<IncrementalExecutor['handleStream']>

function countParts(args: ValidatedExecutionArgs, count: number): void {
  ;(args as MeteredArgs).metering.budget.parts(count)
}

/** Marks rejections in a list as handled. Code that awaits such a promise still gets its rejection. */
function attended(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  for (const item of value) {
    if (item instanceof Promise) item.then(attended, () => undefined)
    else attended(item)
  }
  return value
}
