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
  { blockSize = 2_048, blocks = 32, bytes = 32 << 20, pageSize = 256 } = {},
): Backlog {
  const kept = new Map<number, Block>()
  // Changes of a lost epoch must not be published again.
  hub.subscribe({ topics: [], changed: () => {}, interrupted: () => kept.clear() })

  function block(number: number): Promise<BacklogPage> {
    const found = kept.get(number)
    if (found) return found.page
    const start = number * blockSize
    const upTo = Math.min(start + blockSize, hub.last)
    const own: Block = { page: log.read(start, blockSize, upTo).then((changes) => ({ changes, upTo })), size: 0 }
    kept.set(number, own)
    const keep = ({ changes }: BacklogPage): void => {
      own.size = sizeOf(changes)
      evict()
    }
    // The block that contains the head still grows: it is shared while it is read, and not kept.
    const isWhole = upTo === start + blockSize
    const drop = (): void => void (kept.get(number) === own && kept.delete(number))
    own.page.then(isWhole ? keep : drop, drop)
    return own.page
  }

  function evict(): void {
    let size = 0
    for (const block of kept.values()) size += block.size
    for (const [number, oldest] of kept) {
      if (kept.size <= blocks && size <= bytes) return
      kept.delete(number)
      size -= oldest.size
    }
  }

  return async (after) => {
    const recent = hub.recent(after, pageSize)
    if (recent)
      return { changes: recent, upTo: recent.length < pageSize ? hub.last : (recent.at(-1)?.revision ?? after) }
    const { changes, upTo } = await block(Math.floor(after / blockSize))
    return { changes: changes.filter((change) => change.revision > after), upTo }
  }
}
