/**
 * Execute once. Subscribers with the same document, variables and rights, who are told the same event, get the same result: what the
 * first of them executes is the others' too, and so is its text. Never longer than it is true:
 *
 *   a state    is read from a snapshot that all who are due share: the result lives with that snapshot
 *   a change   links to what is present when it is told: the result is for those who are told in the same moment; when nothing was read for
 *              it, it is also theirs who are told later (a crowd that resumes is never in step)
 */
import type { DocumentNode, FormattedExecutionResult } from 'graphql'
import { LRUCache } from 'lru-cache'
import { createAttachment } from '../attachment.ts'
import type { Change } from '../domain/change.ts'
import type { Revision } from '../domain/deployment.ts'
import { type EventResult, isOfEvent } from './operation.ts'
import type { SourceEvent } from './source-event.ts'

export interface SharedExecution {
  /** Who may share: the same parsed document (the parser keeps them), operation, variables and rights. */
  keyOf(document: DocumentNode, operation: string): string
  execute(key: string, event: SourceEvent, execute: () => MaybeLater<EventResult>): MaybeLater<EventResult>
}

type MaybeLater<T> = T | Promise<T>

type Results = Map<string, MaybeLater<EventResult>>

/** The results of a change that were made of it alone, by operation. */
interface Kept {
  readonly results: Map<string, EventResult>
  size: number
}

/**
 * Characters of the operations whose results are kept for those who come later, each with what a result may take. Of a crowd that resumes some are
 * thousands of changes ahead: were less kept, those behind them would execute all of it again, and drive out what the others need.
 */
const keptText = 16 * 1024 * 1024
const resultText = 1024

export function createSharedExecution(): SharedExecution {
  const documents = new WeakMap<DocumentNode, number>()
  let lastDocument = 0
  const ofStates = createAttachment<object, Results>('results')
  const ofChanges: Results = new Map()
  const kept = new LRUCache<Change, Kept>({ maxSize: keptText })

  function resultsOf(snapshot: object): Results {
    const known = ofStates.get(snapshot)
    if (known) return known
    const results: Results = new Map()
    ofStates.set(snapshot, results)
    return results
  }

  function numberOf(document: DocumentNode): number {
    const known = documents.get(document)
    if (known !== undefined) return known
    lastDocument += 1
    documents.set(document, lastDocument)
    return lastDocument
  }

  function keep(change: Change, operation: string, result: EventResult): void {
    const own = kept.get(change) ?? { results: new Map(), size: 0 }
    own.results.set(operation, result)
    own.size += operation.length + resultText
    kept.set(change, own, { size: own.size })
  }

  return {
    keyOf: (document, operation) => `${numberOf(document)} ${operation}`,
    execute(operation, event, execute) {
      const { change } = event.payload as { readonly change?: Change | null }
      const before = change ? kept.get(change)?.results.get(operation) : undefined
      if (before) return before
      const results = event.snapshot ? resultsOf(event.snapshot) : ofChanges
      const key = `${identityOf(event)} ${operation}`
      const known = results.get(key)
      if (known) return known
      const result = execute()
      results.set(key, result)
      if (event.snapshot) return result
      const forget = (): void => void setImmediate(() => results.delete(key))
      const settle = (value: EventResult): void => {
        if (value[isOfEvent] && change) keep(change, operation, value)
        forget()
      }
      if (result instanceof Promise) result.then(settle, forget)
      else settle(result)
      return result
    },
  }
}

/** What tells two events of one kind apart, for subscribers with the same variables. */
function identityOf({ payload }: SourceEvent): string {
  const { cursor, coalesced, changes, change, reset } = payload as {
    readonly cursor: Revision
    readonly coalesced?: number
    readonly changes?: readonly Change[]
    readonly change?: Change | null
    readonly reset?: string | null
  }
  // Those of one subscription and cursor differ only in where they begin.
  const began = changes
    ? `${changes.length}:${changes[0]?.revision ?? ''}`
    : `${change ? 'change' : (reset ?? 'bookmark')}`
  return `${cursor}/${coalesced ?? ''}/${began}`
}

const texts = createAttachment<EventResult, string>('text')

/** Serialise once: the text of a result that several are sent. */
export function textOf(result: EventResult, format: (result: EventResult) => FormattedExecutionResult): string {
  const known = texts.get(result)
  if (known !== undefined) return known
  const text = JSON.stringify(format(result))
  texts.set(result, text)
  return text
}
