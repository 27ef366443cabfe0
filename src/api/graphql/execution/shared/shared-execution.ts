/**
 * Execute once per event. Subscribers with the same document, variables and rights share the result of an event and its
 * JSON text, for as long as the result is valid:
 *
 *   state    the result depends on a shared snapshot and lives as long as that snapshot
 *   change   linked objects show the present, so only subscribers notified in the same moment share the result. If
 *            nothing was read for it, later ones share it too (resuming subscribers are at different positions)
 */
import { LRUCache } from 'lru-cache'
import type { Change } from '../../../../domain/change.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import type { SourceEvent } from '../../subscriptions/event-source.ts'
import type { EventResult } from '../event-result.ts'
import { createSharedFields, type SharedFields } from './shared-fields.ts'

export interface SharedExecution {
  /** `key`: of the operation's shape, variables and rights. */
  execute(key: string, event: SourceEvent, execute: () => MaybeLater<EventResult>): MaybeLater<EventResult>
  /** The fields that operations on this event share. `group`: of what is watched and the rights. */
  fieldsOf(group: string, event: SourceEvent): SharedFields
}

type MaybeLater<T> = T | Promise<T>

/** Results that depend on a change alone, by operation. */
interface Kept {
  readonly results: Map<string, EventResult>
  size: number
}

/**
 * Characters of cached operations, each plus an estimate for its result. Resuming subscribers can be thousands of
 * changes apart. With a smaller cache, those behind would execute everything again and evict what the others need.
 */
const keptText = 16 * 1024 * 1024
const resultText = 1024

export function createSharedExecution(): SharedExecution {
  const ofChanges = new Map<string, MaybeLater<EventResult>>()
  const fieldsOfChanges = new Map<string, SharedFields>()
  /** By the event of a line: its subscribers would look them up one by one. */
  const fieldsByEvent = new WeakMap<SourceEvent, SharedFields>()
  const kept = new LRUCache<Change, Kept>({ maxSize: keptText })

  function findFields(group: string, event: SourceEvent): SharedFields {
    const all = event.snapshot ? mapOf<SharedFields>(event.snapshot, 'fields') : fieldsOfChanges
    const key = `${eventKey(event)} ${group}`
    const known = all.get(key)
    if (known) return known
    const fields = createSharedFields()
    all.set(key, fields)
    // Linked objects show the present.
    if (!event.snapshot) setImmediate(() => all.delete(key))
    return fields
  }

  function keep(change: Change, operation: string, result: EventResult): void {
    const own = kept.get(change) ?? { results: new Map(), size: 0 }
    own.results.set(operation, result)
    own.size += operation.length + resultText
    kept.set(change, own, { size: own.size })
  }

  return {
    execute(operation, event, execute) {
      const { change } = event.payload as { readonly change?: Change | null }
      const before = change ? kept.get(change)?.results.get(operation) : undefined
      if (before) return before
      const results = event.snapshot ? mapOf<MaybeLater<EventResult>>(event.snapshot, 'results') : ofChanges
      const key = `${eventKey(event)} ${operation}`
      const known = results.get(key)
      if (known) return known
      const result = execute()
      results.set(key, result)
      if (event.snapshot) return result
      const forget = (): void => void setImmediate(() => results.delete(key))
      const settle = (value: EventResult): void => {
        if (value.isOfEvent && change) keep(change, operation, value)
        forget()
      }
      if (result instanceof Promise) result.then(settle, forget)
      else settle(result)
      return result
    },
    fieldsOf(group, event) {
      const known = fieldsByEvent.get(event)
      if (known) return known
      const fields = findFields(group, event)
      fieldsByEvent.set(event, fields)
      return fields
    },
  }
}

/** The snapshot's own map of that name. */
function mapOf<Value>({ derived }: Snapshot, name: string): Map<string, Value> {
  const known = derived.get(name) as Map<string, Value> | undefined
  if (known) return known
  const own = new Map<string, Value>()
  derived.set(name, own)
  return own
}

/** Distinguishes events of one kind, for subscribers with the same variables. */
function eventKey({ payload }: SourceEvent): string {
  const { cursor, coalesced, changes, change, reset, difference } = payload as {
    readonly cursor: Revision
    readonly coalesced?: number
    readonly changes?: readonly Change[]
    readonly change?: Change | null
    readonly reset?: string | null
    readonly difference?: string
  }
  // The update of a list depends on what its subscribers have already.
  if (difference !== undefined) return `${cursor}/${difference}`
  // Events of one subscription with the same cursor differ only in their first change.
  const began = changes
    ? `${changes.length}:${changes[0]?.revision ?? ''}`
    : `${change ? 'change' : (reset ?? 'bookmark')}`
  return `${cursor}/${coalesced ?? ''}/${began}`
}
