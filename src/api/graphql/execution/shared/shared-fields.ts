/**
 * The field results of one event, shared by subscribers whose documents differ. A document that is executed adds its
 * fields. A document whose fields are all there is not executed: its response is assembled from their texts.
 *
 *   rollout {"key":{"name":"a"}} ─┬─ cursor             "17"
 *                                 └─ rollout ─┬─ name   "a"
 *                                             └─ deploymentCounts ─── total   4
 *
 * To merge all documents into one was rejected: its result would have to be taken apart again, and one error would
 * concern all of them. A result with errors adds nothing, so documents with failing fields are always executed.
 */
import { type ExecutionResult, type GraphQLObjectType, isObjectType } from 'graphql'
import { maxAnswerSize, maxRows } from '../../guards/limits.ts'
import type { FieldPlan, PlannedField } from './field-plan.ts'

/** The types of the objects in a result. */
export type ObjectTypes = Map<object, GraphQLObjectType>

export interface SharedFields {
  /** Whether all results that were added depend on the event alone. */
  isOfEvent(): boolean
  /** The response as JSON. Null: the operation must be executed. */
  textOf(plan: FieldPlan): string | null
  /** `isOfPresent`: it was read without a shared snapshot. It replaces the fields of an earlier read. */
  add(plan: FieldPlan, result: ExecutionResult, types: ObjectTypes, isOfEvent: boolean, isOfPresent?: boolean): void
  isEmpty(): boolean
  /** Resolves when the first execution ends, or after a short time. Documents that come meanwhile wait for its fields. */
  pending(): Promise<void> | null
  /** Registers an execution that is not synchronous. */
  wait(execution: Promise<unknown>): void
}

/** JSON, the fields of an object, or the items of a list of objects. */
type Shared = string | SharedObject | readonly Shared[]

interface SharedObject {
  readonly type: GraphQLObjectType
  readonly fields: Map<string, Shared>
}

/** Values of a response that is added or assembled. Larger ones are executed only, which yields to other work meanwhile. */
const mostValues = 2_000

/** Milliseconds that documents wait for the first execution: it may select much more than they do. */
const longestWait = 20

/** Characters that an execution charges for a value besides its text. */
const valueOverhead = 16

export function createSharedFields(): SharedFields {
  let root: SharedObject | null = null
  let isOfEvent = true
  let hasPresent = false
  let pending: Promise<void> | null = null
  let hasWaited = false

  return {
    isOfEvent: () => isOfEvent,
    isEmpty: () => root === null,
    pending: () => pending,
    textOf({ fields }) {
      if (!root || !fields) return null
      const data = createAssembly().object(root, fields)
      return data === null ? null : `{"data":${data}}`
    },
    add({ rootType, fields }, { data, errors }, types, isOwn, isOfPresent = false) {
      if (errors || !data || !fields) return
      // Two reads may have a commit between them. To merge them was rejected: items of a list that has changed would be mixed.
      if (isOfPresent && hasPresent) root = null
      hasPresent ||= isOfPresent
      root ??= { type: rootType, fields: new Map() }
      createAddition(types).addFields(root, data, fields)
      isOfEvent &&= isOwn
    },
    wait(execution) {
      // If the first one fails, the others do not wait for each other in turn.
      if (root || hasWaited) return
      hasWaited = true
      pending = new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer)
          pending = null
          resolve()
        }
        const timer = setTimeout(end, longestWait)
        execution.then(end, end)
      })
    },
  }
}

/** The text of one response, within the limits of an execution: a longer one is left to it. */
function createAssembly() {
  let values = 0
  let rows = 0
  let characters = 0

  function object({ fields: found }: SharedObject, fields: readonly PlannedField[]): string | null {
    let text = '{'
    values += fields.length
    if (values > mostValues) return null
    for (const field of fields) {
      const shared = found.get(field.key)
      const value = shared === undefined ? null : textOf(shared, field)
      if (value === null) return null
      text += field.prefix + value
    }
    return `${text}}`
  }

  function textOf(shared: Shared, field: PlannedField): string | null {
    if (typeof shared === 'string') {
      characters += shared.length + valueOverhead
      return characters > maxAnswerSize ? null : shared
    }
    if ('type' in shared) {
      const fields = field.fieldsOf(shared.type)
      return fields && object(shared, fields)
    }
    rows += shared.length
    values += shared.length
    if (rows > maxRows || values > mostValues) return null
    let text = '['
    for (const [index, item] of shared.entries()) {
      const value = textOf(item, field)
      if (value === null) return null
      text += index === 0 ? value : `,${value}`
    }
    return `${text}]`
  }

  return { object }
}

/** Adds one result, as far as an assembled response can use it. */
function createAddition(types: ObjectTypes) {
  let values = 0

  function addFields({ fields: shared }: SharedObject, data: object, fields: readonly PlannedField[]): void {
    const found = data as Readonly<Record<string, unknown>>
    values += fields.length
    for (const field of fields) {
      const known = shared.get(field.key)
      if (values > mostValues || (known !== undefined && field.isLeaf)) continue
      const value = merged(known, found[field.responseName], field)
      if (value !== null) shared.set(field.key, value)
    }
  }

  /** `known`: from an earlier result. Null: the fields of an object in it cannot be shared. */
  function merged(known: Shared | undefined, value: unknown, field: PlannedField): Shared | null {
    if (Array.isArray(value)) return mergedItems(known, value, field)
    if (value === null || typeof value !== 'object' || field.isLeaf) return JSON.stringify(value) ?? null
    const type = isObjectType(field.type) ? field.type : types.get(value)
    const fields = type && field.fieldsOf(type)
    if (!fields) return null
    const isSame = typeof known === 'object' && 'type' in known && known.type === type
    const object: SharedObject = isSame ? known : { type, fields: new Map() }
    addFields(object, value, fields)
    return object
  }

  function mergedItems(known: Shared | undefined, list: readonly unknown[], field: PlannedField): Shared | null {
    values += list.length
    if (values > mostValues) return null
    const before = Array.isArray(known) && known.length === list.length ? (known as readonly Shared[]) : []
    const items: Shared[] = []
    for (const [index, item] of list.entries()) {
      const own = merged(before[index], item, field)
      if (own === null) return null
      items.push(own)
    }
    return items
  }

  return { addFields }
}
