/**
 * Execute once per event. Subscribers with the same document, variables and rights share the result of an event and its
 * JSON text, for as long as the result is valid:
 *
 *   state    the result depends on a shared snapshot and lives as long as that snapshot
 *   change   linked objects show the present, so only subscribers notified in the same moment share the result. If
 *            nothing was read for it, later ones share it too (resuming subscribers are at different positions)
 */
import { LRUCache } from 'lru-cache'
import type { Change } from '../../../domain/change.ts'
import type { Revision } from '../../../domain/values.ts'
import { sizeOf } from '../../../feed/change-size.ts'
import type { Snapshot } from '../../../store/database.ts'
import type { SourceEvent } from '../subscriptions/event-source.ts'
import type { EventResult } from './event-result.ts'

export interface SharedExecution {
  /** `key`: of the operation's shape, variables and rights. */
  execute(key: string, event: SourceEvent, execute: () => MaybeLater<EventResult>): MaybeLater<EventResult>
}

type MaybeLater<T> = T | Promise<T>

/** Results that depend on a change alone, by operation. */
interface Kept {
  readonly results: Map<string, EventResult>
  readonly size: number
}

/**
 * Bytes of cached changes, operations and results. Resuming subscribers can be thousands of changes apart. With a smaller cache, those behind
 * would execute everything again and evict what the others need. A change is the key, so it stays in memory with its texts, which devices choose.
 */
const keptBytes = 16 * 1024 * 1024
/** Of a small result, its text and its frame. */
const leastResult = 1024

export function createSharedExecution(): SharedExecution {
  const ofChanges = new Map<string, MaybeLater<EventResult>>()
  const kept = new LRUCache<Change, Kept>({ maxSize: keptBytes })

  function keep(change: Change, operation: string, result: EventResult): void {
    const { results, size: before } = kept.get(change) ?? { results: new Map(), size: sizeOf(change) }
    results.set(operation, result)
    // Its text and its frame are made when it is sent.
    const size = before + operation.length + Math.max(leastResult, 3 * sizeOf(result.result.data))
    // A new object: the cache keeps the size of a value that it has already.
    kept.set(change, { results, size }, { size })
  }

  return {
    execute(operation, event, execute) {
      const { change } = event.payload as { readonly change?: Change | null }
      const before = change ? kept.get(change)?.results.get(operation) : undefined
      if (before) return before
      const results = event.snapshot ? resultsOf(event.snapshot) : ofChanges
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
  }
}

/** Of all operations on the snapshot. */
function resultsOf({ derived }: Snapshot): Map<string, MaybeLater<EventResult>> {
  const known = derived.get('results') as Map<string, MaybeLater<EventResult>> | undefined
  if (known) return known
  const own = new Map<string, MaybeLater<EventResult>>()
  derived.set('results', own)
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
