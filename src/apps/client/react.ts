/** Hooks of React: the present answer of a subscription. */
import { useEffect, useRef, useState } from 'react'
import { ApiError, type Client, type Document, type RowOf, type Update, type WatchOptions } from './client.ts'
import type { Given } from './document.ts'

interface Latest<Value> {
  /** Null: nothing has arrived yet. */
  readonly latest: Value | null
  /** Why nothing more will arrive. */
  readonly error: ApiError | null
  /** Why nothing arrives at present. Null: the connection is open. */
  readonly interruption: string | null
}

interface HookOptions {
  /** Ends the subscription, or does not begin it. */
  readonly isOff?: boolean
}

interface WatchHookOptions<Data> extends HookOptions {
  /** Is called with each update: React may draw several at once. */
  readonly next?: (update: Update<Data>) => void
}

/** The latest update of a subscription. */
export function useWatch<Data, Variables = object>(
  client: Client,
  document: Document<Data, Variables>,
  ...[variables, { isOff = false, next } = {}]: Given<Variables, WatchHookOptions<Data>>
): Latest<Update<Data>> {
  const begin = (options: WatchOptions) =>
    client.watch<Data>(document as Document<Data, object>, { ...variables }, options)
  return useLatest(begin, [client, document, JSON.stringify(variables), isOff], isOff, next)
}

/** The rows of a live list. */
export function useLive<Data, Variables = object>(
  client: Client,
  document: Document<Data, Variables>,
  ...[variables, { isOff = false } = {}]: Given<Variables, HookOptions>
): Latest<readonly RowOf<Data>[]> {
  const begin = (options: WatchOptions) =>
    client.live<Data>(document as Document<Data, object>, { ...variables }, options)
  return useLatest(begin, [client, document, JSON.stringify(variables), isOff], isOff)
}

function useLatest<Value>(
  begin: (options: WatchOptions) => AsyncIterable<Value>,
  about: readonly unknown[],
  isOff: boolean,
  next?: (value: Value) => void,
): Latest<Value> {
  const none: Latest<Value> = { latest: null, error: null, interruption: null }
  const [state, setState] = useState(none)
  const told = useRef(next)
  told.current = next
  useEffect(() => {
    setState(none)
    if (isOff) return
    const left = new AbortController()
    const { signal } = left
    const interrupted = (interruption: string | null) => setState((known) => ({ ...known, interruption }))
    const read = async (): Promise<void> => {
      for await (const latest of begin({ signal, interrupted })) {
        if (signal.aborted) return
        told.current?.(latest)
        setState({ ...none, latest })
      }
    }
    read().catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      setState((known) => ({ ...known, error }))
    })
    return () => left.abort()
  }, about)
  return state
}
