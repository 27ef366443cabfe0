/**
 * A live list: loaded page by page, then updated by the changes that follow the first page's revision, so that none is missed while
 * later pages load. Rows keep their positions, so that nothing moves while a person reads.
 */
import { signal } from '@preact/signals'
import { ApiError } from '../../client/client.ts'
import { perFrame } from './throttle.ts'

interface Listed {
  readonly id: string
  readonly revision: string
}

interface Page<Row> {
  readonly totalCount?: number | null
  readonly nodes: readonly Row[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

export interface LiveRows<Row> {
  readonly list: readonly Row[]
  /** Number of rows on all pages; null before the first answer. */
  readonly total: number | null
  readonly isComplete: boolean
  readonly error: ApiError | null
}

interface LiveListOptions<Row> {
  readonly newRows: 'first' | 'last'
  /** A null page: the object that has the list does not exist. */
  askPage(
    after: string | null,
    signal: AbortSignal,
  ): Promise<{ readonly revision: string; readonly page: Page<Row> | null }>
  /** Follows the changes after a revision, until what it returns is called. A list of the past follows none. */
  follow(revision: string, expired: () => void): () => void
}

/** The most rows that are loaded. A longer list must be searched. */
const mostRows = 20_000

export const noRows: LiveRows<never> = { list: [], total: null, isComplete: false, error: null }

export function createLiveList<Row extends Listed>({ newRows, askPage, follow }: LiveListOptions<Row>) {
  const rows = signal<LiveRows<Row>>(noRows)
  const abort = new AbortController()
  let shown = new Map<string, Row>()
  /** The list that a load makes. Changes apply to it too. */
  let loading = shown
  let order: string[] = []
  let total = 0
  let isComplete = false
  let leave = (): void => undefined
  let retry: ReturnType<typeof setTimeout> | undefined

  const publish = perFrame<ApiError | null>((error) => {
    const list = order.flatMap((id) => shown.get(id) ?? [])
    rows.value = { list, total: isComplete ? list.length : Math.max(total, list.length), isComplete, error }
  })

  async function load(): Promise<void> {
    const own = new Map<string, Row>()
    loading = own
    const isCurrent = (): boolean => loading === own && !abort.signal.aborted
    try {
      for (let after: string | null = null, isLast = false; !isLast; ) {
        const { revision, page } = await askPage(after, abort.signal)
        if (!isCurrent()) return
        if (after === null) {
          total = page?.totalCount ?? 0
          leave()
          leave = follow(revision, () => void load())
        }
        for (const row of page?.nodes ?? []) {
          const known = newest(own.get(row.id) ?? shown.get(row.id), row)
          // A row that a change has added moves to the place that its page gives it.
          own.delete(row.id)
          own.set(row.id, known)
        }
        after = page?.pageInfo.endCursor ?? null
        isLast = !page?.pageInfo.hasNextPage || own.size >= mostRows
        // The first load shows each page as it arrives; later loads replace the whole list at once.
        if (isComplete && !isLast) continue
        isComplete = isLast
        shown = own
        order = [...own.keys()]
        publish(null)
      }
    } catch (error) {
      if (!isCurrent()) return
      publish(error instanceof ApiError ? error : new ApiError('UNKNOWN', String(error)))
      retry = setTimeout(() => void load(), 3_000)
    }
  }

  void load()
  return {
    rows,
    signal: abort.signal,
    get: (id: string): Row | undefined => shown.get(id),
    /** Loads all pages again, in their order. */
    reload: (): void => void load(),
    put(row: Row): void {
      const known = shown.get(row.id)
      if (!known && newRows === 'first') order.unshift(row.id)
      else if (!known) order.push(row.id)
      const latest = newest(known, row)
      shown.set(row.id, latest)
      loading.set(row.id, latest)
      publish(null)
    },
    remove(ids: Iterable<string>): void {
      const size = shown.size
      for (const id of ids) {
        shown.delete(id)
        loading.delete(id)
      }
      if (shown.size < size) order = order.filter((id) => shown.has(id))
      publish(null)
    },
    stop(): void {
      abort.abort()
      clearTimeout(retry)
      leave()
      publish.cancel()
    },
  }
}

function newest<Row extends Listed>(known: Row | undefined, row: Row): Row {
  return known && BigInt(known.revision) > BigInt(row.revision) ? known : row
}
