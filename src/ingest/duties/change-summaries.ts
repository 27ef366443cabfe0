/** Summarises the log, so that reads of it skip entries that do not match (store/write/derived/change-summaries.ts). */
import type { Database } from '../../store/database.ts'
import {
  readSummarized,
  summariesDuty,
  summarizeNext,
  summarySize,
} from '../../store/write/derived/change-summaries.ts'
import type { Duty } from './duties.ts'

export function createSummaries({ session }: Database): Duty {
  return {
    name: summariesDuty,
    interval: 10_000,
    budget: 4_000,
    async run({ isOver }) {
      const read = await readSummarized(session)
      let cursor: number | null = read.cursor
      // An entry has at least one revision.
      while (cursor !== null && read.head - cursor >= summarySize) {
        if (isOver()) return false
        cursor = await summarizeNext(session, cursor)
      }
      return true
    },
  }
}
