/**
 * A live list: its first page, more pages as they are scrolled into view, and the changes that follow the first page's revision, so
 * that none is missed while later pages load. Rows keep their positions, so that nothing moves while a person reads.
 */
import { signal } from '@preact/signals'
import { ApiError } from '../../client/client.ts'
import { readPages } from './export.ts'
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
  /** The rows of the pages that are loaded. */
  readonly list: readonly Row[]
  /** Number of rows on all pages; null before the first answer. */
  readonly total: number | null
  readonly isComplete: boolean
  readonly error: ApiError | null
}

/** What changes did to rows while a page was under way: the page may be older. */
interface Meanwhile<Row> {
  readonly put: Map<string, Row>
  readonly removed: Set<string>
}

interface LiveListOptions<Row> {
  /**
   * Where a row goes that is on no loaded page. `top`: to the top. `end-when-complete`: to the end, once all pages are loaded.
   * `top-when-complete`: to the top, once all pages are loaded. Until then a later page has it.
   */
  readonly newRows: 'top' | 'top-when-complete' | 'end-when-complete'
  /** A null page: the object that has the list does not exist. */
  askPage(
    after: string | null,
    signal: AbortSignal,
  ): Promise<{ readonly revision: string; readonly page: Page<Row> | null }>
  /** Follows the changes after a revision, until what it returns is called. A list of the past follows none. */
  follow(revision: string): () => void
  /** Follows the rows of a page after its revision, until the list is left or loaded again. `isLast`: no page follows. */
  followPage(revision: string, rows: readonly Row[], isLast: boolean): void
}

export const noRows: LiveRows<never> = { list: [], total: null, isComplete: false, error: null }

export function createLiveList<Row extends Listed>({ newRows, askPage, follow, followPage }: LiveListOptions<Row>) {
  const rows = signal<LiveRows<Row>>(noRows)
  const abort = new AbortController()
  let shown = new Map<string, Row>()
  let order: string[] = []
  let total = 0
  let end: string | null = null
  let isComplete = false
  let during: Meanwhile<Row> | null = null
  let leave = (): void => undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  /** Why the last load has failed, until one succeeds: changes and counts still arrive meanwhile. */
  let error: ApiError | null = null

  const publish = perFrame<void>(() => {
    const list = order.flatMap((id) => shown.get(id) ?? [])
    rows.value = { list, total: isComplete ? list.length : Math.max(total, list.length), isComplete, error }
  })

  /** The first page replaces all rows. A row that a change has put on top keeps its place there. */
  function show(isFirst: boolean, page: Page<Row> | null, meanwhile: Meanwhile<Row>): void {
    const known = shown
    if (isFirst) {
      total = page?.totalCount ?? 0
      shown = new Map()
      order = []
    }
    for (const row of page?.nodes ?? []) {
      if (meanwhile.removed.has(row.id)) continue
      shown.set(row.id, newest(meanwhile.put.get(row.id) ?? known.get(row.id), row))
    }
    order = [...new Set([...order, ...shown.keys()])]
    end = page?.pageInfo.endCursor ?? null
    isComplete = !page?.pageInfo.hasNextPage
  }

  /** Null: the first page. */
  async function load(after: string | null): Promise<void> {
    clearTimeout(retry)
    const own = { put: new Map<string, Row>(), removed: new Set<string>() }
    during = own
    try {
      const { revision, page } = await askPage(after, abort.signal)
      if (during !== own || abort.signal.aborted) return
      if (after === null) {
        leave()
        leave = follow(revision)
      }
      followPage(revision, page?.nodes ?? [], !page?.pageInfo.hasNextPage)
      show(after === null, page, own)
      during = null
      error = null
      publish()
    } catch (failure) {
      if (during !== own || abort.signal.aborted) return
      error = failure instanceof ApiError ? failure : new ApiError('UNKNOWN', String(failure))
      publish()
      retry = setTimeout(() => void load(after), 3_000)
    }
  }

  void load(null)
  return {
    rows,
    signal: abort.signal,
    get: (id: string): Row | undefined => shown.get(id),
    isComplete: (): boolean => isComplete,
    size: (): number => order.length,
    /** Loads the first page again. */
    reload: (): void => void load(null),
    /** Loads the next page, if there is one and none is under way. */
    more(): void {
      if (!isComplete && during === null) void load(end)
    },
    /** All pages, again, for a file. */
    pages: () => readPages(async (after) => (await askPage(after, abort.signal)).page),
    /** The number of rows on all pages has changed. */
    count(number: number): void {
      total = number
      publish()
    },
    put(row: Row): void {
      during?.removed.delete(row.id)
      const known = shown.get(row.id)
      const latest = newest(known ?? during?.put.get(row.id), row)
      during?.put.set(row.id, latest)
      if (!known && newRows !== 'top' && !isComplete) return
      if (!known && newRows === 'end-when-complete') order.push(row.id)
      else if (!known) order.unshift(row.id)
      shown.set(row.id, latest)
      publish()
    },
    remove(ids: Iterable<string>): void {
      const size = shown.size
      for (const id of ids) {
        shown.delete(id)
        during?.put.delete(id)
        during?.removed.add(id)
      }
      if (shown.size < size) order = order.filter((id) => shown.has(id))
      publish()
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
