/**
 * Reads what a subscriber missed. Blocks have fixed borders, so a thousand subscribers that resume together read each
 * block once: those that ask while it is being read, or soon after, get the same one. Changes in memory are given in small
 * pages, because each subscriber holds its page until it has taken it.
 */
import type { Change } from '../domain/change.ts'
import type { Revision } from '../domain/values.ts'
import { sizeOf } from './change-size.ts'
import type { Hub, LogReader } from './hub.ts'

export interface BacklogPage {
  readonly changes: readonly Change[]
  /** Everything up to here is in `changes` or was before `after`. */
  readonly upTo: Revision
}

export type Backlog = (after: Revision) => Promise<BacklogPage>

interface Block {
  readonly page: Promise<BacklogPage>
  /** Bytes, once it is read. */
  size: number
}

export function createBacklog(
  log: LogReader,
  hub: Hub,
  { blockSize = 2_048, blocks = 32, bytes = 32 << 20, pageSize = 256, pageBytes = 64 << 10 } = {},
): Backlog {
  const kept = new Map<number, Block>()
  // Changes of a lost epoch must not be published again.
  hub.subscribe({ topics: [], changed: () => {}, interrupted: () => kept.clear() })

  function block(start: Revision): Promise<BacklogPage> {
    const found = kept.get(start)
    if (found) {
      // The first part of a block is needed for each of its parts, so it must not be the first that is evicted.
      kept.delete(start)
      kept.set(start, found)
      return found.page
    }
    const border = borderOf(start) + blockSize
    const end = Math.min(border, hub.last)
    const own: Block = { page: readPage(start, end), size: 0 }
    kept.set(start, own)
    const keep = ({ changes }: BacklogPage): void => {
      own.size = sizeOf(changes)
      evict()
    }
    // The block that contains the head still grows: it is shared while it is read, and not kept.
    const isWhole = end === border
    const drop = (): void => void (kept.get(start) === own && kept.delete(start))
    own.page.then(isWhole ? keep : drop, drop)
    return own.page
  }

  const borderOf = (revision: Revision): Revision => Math.floor(revision / blockSize) * blockSize

  async function readPage(start: Revision, end: Revision): Promise<BacklogPage> {
    const changes = await log.read(start, blockSize, end)
    return { changes, upTo: changes.at(-1)?.revision ?? end }
  }

  function evict(): void {
    let size = 0
    for (const block of kept.values()) size += block.size
    for (const [start, leastUsed] of kept) {
      if (kept.size <= blocks && size <= bytes) return
      kept.delete(start)
      size -= leastUsed.size
    }
  }

  /** A slow subscriber holds its page while the blocks and the hub go on. The last change may be larger. */
  function cut({ changes, upTo }: BacklogPage): BacklogPage {
    let size = 0
    const end = changes.findIndex((change) => {
      size += sizeOf(change)
      return size > pageBytes
    })
    const last = changes[end]
    return last && end < changes.length - 1
      ? { changes: changes.slice(0, end + 1), upTo: last.revision }
      : { changes, upTo }
  }

  return async (after) => {
    const recent = hub.recent(after, pageSize)
    if (recent)
      return cut({ changes: recent, upTo: recent.length < pageSize ? hub.last : (recent.at(-1)?.revision ?? after) })
    const first = await block(borderOf(after))
    // Large entries end a reading before the border. What follows begins where a subscriber is, which is mostly where the others are.
    const { changes, upTo } = after < first.upTo || first.upTo >= hub.last ? first : await block(after)
    return cut({ changes: changes.filter((change) => change.revision > after), upTo })
  }
}
