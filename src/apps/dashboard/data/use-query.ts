/** Query results in components: kept while the query repeats, and repeated when their subject changes. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../../client/client.ts'
import { ask, connection, connections, follow } from './api.ts'
import { type Document, graphql, type VariablesOf } from './graphql.ts'
import { useFailing, useLoading, useOutdated } from './loading.ts'
import { perFrame, throttle } from './throttle.ts'
import { clock, now } from './time.ts'

interface Answer<Data> {
  /** The latest data, also while the next request is running. */
  readonly data: Data | null
  /** Whether the data answer this question. False: there are none, or they answer the one before. */
  readonly isCurrent: boolean
  /** When the data were requested. Null: there are none. */
  readonly askedAt: number | null
  /** Why this question has no answer. */
  readonly error: ApiError | null
  readonly isAsking: boolean
  /** The last request on this connection has failed, and the data is that of an earlier one. */
  readonly isFailing: boolean
}

interface AskOptions {
  /** What the answer is about. Absent: the query and its variables. Needed where a variable changes with time. */
  readonly about?: string | undefined
  /** Repeats the query when this changes. */
  readonly version?: unknown
  /** Disables the query. */
  readonly isOff?: boolean
}

/** Milliseconds after which a query is repeated that may succeed then. */
const pause = 3_000

/** The server or its database is away, which passes. */
export const isPassing = ({ code }: ApiError): boolean => ['UNREACHABLE', 'UNAVAILABLE', 'NO_ANSWER'].includes(code)

export interface AnswerTo<Data, Variables> extends Answer<Data> {
  /** The variables that the data answer: while the next request is running, those of the last one. */
  readonly answered: Variables | null
}

export function useAnswer<Data, Variables>(
  query: Document<Data, Variables>,
  variables: Variables,
  options: AskOptions = {},
): AnswerTo<Data, Variables> {
  const { data, ...state } = useAsked(
    `${query} ${JSON.stringify(variables)}`,
    async (signal) => ({ data: await ask(query, variables, signal), answered: variables }),
    options,
  )
  return { ...state, data: data?.data ?? null, answered: data?.answered ?? null }
}

interface Outcome<Data> {
  readonly data: Data | null
  readonly askedAt: number | null
  readonly error: ApiError | null
  /** What both are about. */
  readonly about: string | null
  readonly isAsking: boolean
  /** The connection, as a number, on which the error came. */
  readonly failedOn: number | null
}

const none = { data: null, askedAt: null, error: null, about: null, isAsking: true, failedOn: null }

/** For what several requests answer. `key`: the request is repeated when it changes. */
export function useAsked<Data>(
  key: string,
  request: (signal: AbortSignal) => Promise<Data>,
  { version, about = key, isOff = false }: AskOptions = {},
): Answer<Data> {
  const [outcome, setOutcome] = useState<Outcome<Data>>(none)
  const [failures, setFailures] = useState(0)
  useEffect(() => {
    if (isOff) return
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    setOutcome((known) => ({ ...known, isAsking: true }))
    const askedAt = clock()
    request(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setOutcome({ ...none, data, askedAt, about, isAsking: false })
      },
      (error: unknown) => {
        if (abort.signal.aborted) return
        const problem = error instanceof ApiError ? error : new ApiError('UNKNOWN', String(error))
        // An unreachable server leaves the last data valid; any other error replaces it.
        const isKept = isPassing(problem) || problem.code === 'UNKNOWN'
        if (isPassing(problem)) timer = setTimeout(() => setFailures((count) => count + 1), pause)
        setOutcome((known) => ({
          ...(isKept && known.about === about ? known : none),
          error: problem,
          about,
          isAsking: false,
          failedOn: connections.value,
        }))
      },
    )
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [key, about, version, isOff, failures, connections.value])
  const isAbout = outcome.about === about
  const { data, askedAt, error, isAsking, failedOn } = outcome
  const isCurrent = data !== null && isAbout
  const isFailing = isCurrent && failedOn === connections.value
  return { data, askedAt, isCurrent, error: isAbout ? error : null, isAsking, isFailing }
}

/** Until when live data is known that was requested at a time: as long as the page is connected, it gets each change. */
export function knownUntil(askedAt: number | null): number {
  const { value } = connection
  if (value.state === 'live') return now.value
  return Math.max(askedAt ?? 0, (value.state === 'lost' ? value.since : null) ?? 0)
}

export type ChangeFilter = NonNullable<VariablesOf<typeof changesDocument>['filter']>

const changesDocument = graphql(`
  subscription Changes($after: Revision, $filter: ChangeFilter) {
    changes(after: $after, filter: $filter) { cursor reset { reason } change { kind } }
  }
`)

interface ChangesAnswer<Change> {
  readonly changes: {
    readonly cursor: string
    readonly reset: { readonly reason: string } | null
    readonly change: Change | null
  }
}

/** Calls `changed` with each change after a revision, and `expired` when changes are missing because they were not retained. */
export function followChanges<Change, Variables>(
  document: Document<ChangesAnswer<Change>, Variables>,
  after: string | null,
  filter: ChangeFilter,
  expired: () => void,
  changed: (change: Change) => void,
): () => void {
  return follow(document, { after, filter } as Variables, ({ changes: { change, reset } }) => {
    if (reset?.reason === 'CURSOR_EXPIRED') expired()
    else if (change) changed(change)
  })
}

/** Minimum milliseconds between two repetitions. */
const refreshInterval = 500
/** Milliseconds after which a query is repeated for what makes no revision: contacts, repeated and stale reports. */
const contactInterval = 10_000

/** A version that `reload` increases, for an answer whose subject is not in the log. */
export function useReload(): readonly [version: number, reload: () => void] {
  const [version, setVersion] = useState(0)
  return [version, () => setVersion((current) => current + 1)]
}

interface LiveOptions extends Pick<AskOptions, 'version' | 'about'> {
  /** The page shows when a device was last heard, or its reports. */
  readonly hasContacts?: boolean
}

/**
 * Repeats the query after each change that matches the filter and is newer than the answer. `filter` null: the query is about
 * the past, which does not change. While the answer to another question is under way, the page shows that its data is outdated.
 */
export function useLiveAnswer<Data extends { readonly revision: string }, Variables>(
  query: Document<Data, Variables>,
  variables: Variables,
  filter: ChangeFilter | null,
  { hasContacts = false, ...options }: LiveOptions = {},
): AnswerTo<Data, Variables> {
  const [version, setVersion] = useState(0)
  const contacts = hasContacts && filter !== null ? Math.floor(now.value / contactInterval) : 0
  const answer = useAnswer(query, variables, { ...options, version: `${version} ${options.version} ${contacts}` })
  useLoading(filter === null && !answer.isCurrent && answer.error === null)
  useOutdated(answer.data !== null && !answer.isCurrent)
  useFailing(answer.isFailing)
  const { isCurrent } = answer
  const began = answer.data?.revision
  const key = filter && JSON.stringify(filter)
  const after = useRef(began)
  after.current = began
  useEffect(() => {
    // Not after another answer: all changes since would follow, and a page about the past may have been open for hours.
    if (!filter || !isCurrent) return
    const again = throttle(refreshInterval, () => setVersion((current) => current + 1))
    const leave = followChanges(changesDocument, after.current ?? null, filter, again, again)
    return () => {
      leave()
      again.cancel()
    }
  }, [key, isCurrent, JSON.stringify(variables)])
  return answer
}

/** The latest result of a state stream. */
export function useStream<Data>(subscription: Document<Data, object>): Data | null {
  const [data, setData] = useState<Data | null>(null)
  useEffect(() => {
    const show = perFrame<Data>(setData)
    const leave = follow(subscription, {}, show)
    return () => {
      leave()
      show.cancel()
    }
  }, [subscription])
  return data
}
