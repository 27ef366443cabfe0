import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ApiError } from '../../src/client/client.ts'
import { createLiveList } from '../../src/dashboard/data/live-list.ts'

interface Row {
  readonly id: string
  readonly revision: string
}

const row = (id: string, revision: number): Row => ({ id, revision: String(revision) })

/** A list whose requests the test answers, one after the other. */
function startList(newRows: 'first' | 'last' = 'first') {
  const asked: { readonly after: string | null; answer(answer: Answer): void; fail(error: Error): void }[] = []
  const followed: { readonly revision: string; readonly expired: () => void }[] = []
  type Answer = Awaited<ReturnType<Parameters<typeof createLiveList<Row>>[0]['askPage']>>
  const list = createLiveList<Row>({
    newRows,
    askPage: (after) => new Promise((answer, fail) => asked.push({ after, answer, fail })),
    follow(revision, expired) {
      followed.push({ revision, expired })
      return () => undefined
    },
  })
  onTestFinished(list.stop)
  /** Answers the latest request with a page. */
  async function page(revision: number, nodes: readonly Row[], endCursor: string | null = null): Promise<void> {
    const pageInfo = { hasNextPage: endCursor !== null, endCursor }
    asked.at(-1)?.answer({ revision: String(revision), page: { totalCount: 10, nodes, pageInfo } })
    await vi.waitFor(() => endCursor === null || expect(asked.at(-1)?.after).toBe(endCursor))
    await Promise.resolve()
  }
  const shown = (): string[] => list.rows.value.list.map(({ id, revision }) => `${id}@${revision}`)
  return { list, asked, followed, page, shown }
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

  it('shows each page as it arrives, and follows the revision of the first', async () => {
    const { list, followed, page, shown } = startList()
    await page(5, [row('a', 1)], 'next')
    await vi.waitFor(() => expect(shown()).toEqual(['a@1']))
    expect(list.rows.value).toMatchObject({ total: 10, isComplete: false })
    await page(7, [row('b', 2)])
    await vi.waitFor(() => expect(shown()).toEqual(['a@1', 'b@2']))
    expect(list.rows.value).toMatchObject({ total: 2, isComplete: true })
    expect(followed.map(({ revision }) => revision)).toEqual(['5'])
  })

  it('keeps what changes add, update and remove while it loads again', async () => {
    const { list, page, shown } = startList()
    await page(5, [row('a', 1), row('b', 2), row('c', 3)])
    list.reload()
    await page(6, [row('a', 1), row('b', 2)], 'next')
    list.put(row('new', 7))
    list.put(row('b', 8))
    list.remove(['a'])
    await page(8, [row('c', 3)])
    await vi.waitFor(() => expect(shown().toSorted()).toEqual(['b@8', 'c@3', 'new@7']))
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
    ['first', ['n@2', 'a@1']],
    ['last', ['a@1', 'n@2']],
  ] as const)('puts new rows %s', async (newRows, expected) => {
    const { list, page, shown } = startList(newRows)
    await page(5, [row('a', 1)])
    await vi.waitFor(() => expect(shown()).toEqual(['a@1']))
    list.put(row('n', 2))
    await vi.waitFor(() => expect(shown()).toEqual(expected))
  })

  it('loads again when changes have expired, and says why a load has failed', async () => {
    const { list, asked, followed, page } = startList()
    await page(5, [row('a', 1)])
    followed[0]?.expired()
    expect(asked).toHaveLength(2)
    asked[1]?.fail(new ApiError('UNREACHABLE', 'no'))
    await vi.waitFor(() => expect(list.rows.value.error?.code).toBe('UNREACHABLE'))
    expect(list.rows.value.list).toHaveLength(1)
  })
})
