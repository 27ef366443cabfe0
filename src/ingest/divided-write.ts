/**
 * The transaction of a command of many items. One transaction that holds the rows of 10,000 items takes hundreds of times the bytes of their request:
 * each row as an object, as an image in the log and as a parameter. So the command is loaded, decided and saved in parts, and the rows of one
 * part are dropped before the next. The parts have one name and are committed together. A refusal is thrown out of the transaction, which undoes all.
 */
import { paced, stepsOf } from '../platform/limits/pace.ts'
import { sharedSlices } from '../platform/limits/slices.ts'
import type { Session } from '../store/database.ts'
import type { BatchName } from '../store/write/contract.ts'
import { type LockedHead, loadNeeds } from '../store/write/load/load.ts'
import { saveBatch } from '../store/write/save/save.ts'
import { headAfter } from './batch.ts'
import type { Command, WritePart } from './command.ts'
import { createUnitOfWork } from './unit-of-work/unit-of-work.ts'
import type { WriterState } from './writer-state.ts'

export async function writeInParts<Result>(
  session: Session,
  before: LockedHead,
  { divided, statements }: Command<Result>,
  name: BatchName,
  { clock, offlineAfter }: Pick<WriterState, 'clock' | 'offlineAfter'>,
): Promise<{ readonly result: Result; readonly head: LockedHead }> {
  if (!divided) throw new Error('the command has no parts')
  const now = clock()
  let head = before
  const write: WritePart = async (part) => {
    const work = createUnitOfWork(head, await loadNeeds(session, [part.needs]), now, offlineAfter)
    const result = await paced(stepsOf(part.decide(work)), sharedSlices, 'writer')
    const effects = work.effects()
    const more = part.statements?.(result) ?? []
    await saveBatch(session, head, { effects, spent: [], answers: [], statements: more }, name)
    head = headAfter(head, effects, name)
    return result
  }
  const result = await divided(write)
  for (const { text, parameters } of statements?.(result) ?? []) await session.run(text, parameters)
  return { result, head }
}
