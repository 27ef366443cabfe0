import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ApiError } from '../../../src/apps/client/client.ts'
import { createLiveList } from '../../../src/apps/dashboard/data/live-list.ts'

interface Row {
  readonly id: string
  readonly revision: string
}

const row = (id: string, revision: number): Row => ({ id, revision: String(revision) })

/** A list whose requests the test answers, one after the other. */
function startList(newRows: 'top' | 'top-when-complete' | 'end-when-complete' = 'top') {
  const asked: { readonly after: string | null; answer(answer: Answer): void; fail(error: Error): void }[] = []
  const followed: string[] = []
  const followedPages: { readonly ids: readonly string[]; readonly isLast: boolean }[] = []
  type Answer = Awaited<ReturnType<Parameters<typeof createLiveList<Row>>[0]['askPage']>>
  const list = createLiveList<Row>({
    newRows,
    askPage: (after) => new Promise((answer, fail) => asked.push({ after, answer, fail })),
    follow(revision) {
      followed.push(revision)
      return () => undefined
    },
    followPage(_, rows, isLast) {
      followedPages.push({ ids: rows.map(({ id }) => id), isLast })
    },
  })
  onTestFinished(list.stop)
  /** Answers the latest request with a page. */
  async function page(revision: number, nodes: readonly Row[], endCursor: string | null = null): Promise<void> {
    const pageInfo = { hasNextPage: endCursor !== null, endCursor }
    asked.at(-1)?.answer({ revision: String(revision), page: { totalCount: 10, nodes, pageInfo } })
    await new Promise((answered) => setImmediate(answered))
  }
  const shown = (): string[] => list.rows.value.list.map(({ id, revision }) => `${id}@${revision}`)
  return { list, asked, followed, followedPages, page, shown }
}

describe('a live list', () => {
  beforeEach(() => {
    // Shows at once what a browser shows with its next frame.
    vi.stubGlobal('requestAnimationFrame', (draw: () => void) => {
      queueMicrotask(draw)
      return 1
    })
    vi.stubGlobal('cancelAnimationFrame', () => undefined)
  })
  afterEach(() => vi.unstubAllGlobals())

  it('loads a page only when asked, and follows the revision of the first, and the rows of each', async () => {
    const { list, asked, followed, followedPages, page, shown } = startList()
    await page(5, [row('a', 1)], 'next')
    await vi.waitFor(() => expect(shown()).toEqual(['a@1']))
    expect(list.rows.value).toMatchObject({ total: 10, isComplete: false })
    expect(asked).toHaveLength(1)
    list.more()
    list.more()
    expect(asked.map(({ after }) => after)).toEqual([null, 'next'])
    await page(7, [row('b', 2)])
    await vi.waitFor(() => expect(shown()).toEqual(['a@1', 'b@2']))
    expect(list.rows.value).toMatchObject({ total: 2, isComplete: true })
    list.more()
    expect(asked).toHaveLength(2)
    expect(followed).toEqual(['5'])
    expect(followedPages).toEqual([
      { ids: ['a'], isLast: false },
      { ids: ['b'], isLast: true },
    ])
  })

  it('keeps what changes update and remove while an older page is under way', async () => {
    const { list, page, shown } = startList()
    await page(5, [row('a', 1)], 'next')
    list.more()
    list.put(row('b', 8))
    list.put(row('new', 9))
    list.remove(['c'])
    await page(6, [row('b', 2), row('c', 3)])
    await vi.waitFor(() => expect(shown()).toEqual(['new@9', 'b@8', 'a@1']))
  })

  it('leaves rows of other pages to these pages, unless the latest come first', async () => {
    const { list, page, shown } = startList('top-when-complete')
    await page(5, [row('a', 1)], 'next')
    list.put(row('z', 7))
    list.more()
    await page(6, [row('z', 3)])
    await vi.waitFor(() => expect(shown()).toEqual(['a@1', 'z@3']))
    list.put(row('n', 8))
    await vi.waitFor(() => expect(shown()).toEqual(['n@8', 'a@1', 'z@3']))
  })

  it('shows no older row than it has', async () => {
    const { list, page, shown } = startList()
    await page(5, [row('a', 1)])
    list.put(row('a', 9))
    list.put(row('a', 7))
    list.reload()
    await page(6, [row('a', 4)])
    await vi.waitFor(() => expect(shown()).toEqual(['a@9']))
  })

  it.each([
    ['top', ['n@2', 'a@1']],
    ['end-when-complete', ['a@1', 'n@2']],
  ] as const)('puts new rows %s', async (newRows, expected) => {
    const { list, page, shown } = startList(newRows)
    await page(5, [row('a', 1)])
    await vi.waitFor(() => expect(shown()).toEqual(['a@1']))
    list.put(row('n', 2))
    await vi.waitFor(() => expect(shown()).toEqual(expected))
  })

  it('loads again when it must, and says why a load has failed', async () => {
    const { list, asked, page } = startList()
    await page(5, [row('a', 1)])
    list.reload()
    expect(asked).toHaveLength(2)
    asked[1]?.fail(new ApiError('UNREACHABLE', 'no'))
    await vi.waitFor(() => expect(list.rows.value.error?.code).toBe('UNREACHABLE'))
    expect(list.rows.value.list).toHaveLength(1)
  })

  it('says so until a load succeeds, whatever arrives meanwhile', async () => {
    const { list, asked, page, shown } = startList()
    await page(5, [row('a', 1)], 'next')
    list.more()
    asked[1]?.fail(new ApiError('UNREACHABLE', 'no'))
    await vi.waitFor(() => expect(list.rows.value.error?.code).toBe('UNREACHABLE'))
    list.count(11)
    await vi.waitFor(() => expect(list.rows.value.total).toBe(11))
    list.put(row('b', 6))
    await vi.waitFor(() => expect(shown()).toEqual(['b@6', 'a@1']))
    list.remove(['b'])
    await vi.waitFor(() => expect(shown()).toEqual(['a@1']))
    expect(list.rows.value.error?.code).toBe('UNREACHABLE')
    list.reload()
    await page(7, [row('a', 1)])
    await vi.waitFor(() => expect(list.rows.value.error).toBeNull())
  })
})
