/**
 * Reports of one step that go through several servers at the same time. Which of them is written first is decided by the log's head. The model
 * takes them in the order that the database shows: by the kept reports, and by the revision of those that are not kept.
 */
import { expect } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Writer } from '../../../src/ingest/writer.ts'
import type { Session } from '../../../src/store/database.ts'
import { familyOf } from './reference-devices.ts'
import type { ModelReport } from './reference-facts.ts'
import type { createModel } from './reference-model.ts'
import { recordModelled } from './reference-shown.ts'

interface Sent {
  readonly r: ModelReport
  readonly answer: unknown
}

/** Reports about the devices of one family go through one server, so their order is known. */
export async function writeAtOnce(
  writers: readonly Writer[],
  reports: readonly ModelReport[],
  { session, model, now }: { session: Session; model: ReturnType<typeof createModel>; now: number },
): Promise<void> {
  const [before] = await session.run<{ key: number }>('select coalesce(max(key), 0)::int as key from reports')
  const families = [...Map.groupBy(reports, ({ reporter }) => familyOf(reporter))]
  const sent = families.map(async ([family, list], index) => {
    const writer = writers[index % writers.length] ?? expect.unreachable()
    const answers = list.map(async (r): Promise<Sent> => {
      const answer: unknown = await writer.submit(recordModelled(r)).catch((error: unknown) => error)
      return { r, answer: answer instanceof DomainError ? answer.code : answer }
    })
    return [family, await Promise.all(answers)] as const
  })
  const left = new Map(await Promise.all(sent))
  const kept = await session.run<{ reporter: string }>(
    'select d.reporter from reports r join deployments d on d.key = r.deployment_key where r.key > $1 order by r.key',
    [before?.key],
  )
  const take = (list: Sent[]): void => {
    const { r, answer } = list.shift() ?? expect.unreachable()
    const expected = model.report(r, now)
    if (typeof expected === 'string') expect(answer).toBe(expected)
    else expect(answer).toMatchObject(expected)
  }
  const takeUnkept = (): void => {
    for (const list of left.values()) while (list[0] && isNext(list[0].answer, model.revision())) take(list)
  }
  takeUnkept()
  for (const { reporter } of kept) {
    take(left.get(familyOf(reporter)) ?? expect.unreachable())
    takeUnkept()
  }
  expect([...left.values()].flat()).toEqual([])
}

/** Whether the answer is a refusal, or of a report that changed nothing at that revision. Neither is kept. */
function isNext(answer: unknown, revision: number): boolean {
  if (typeof answer === 'string') return true
  const { verdict, revision: then } = answer as { verdict: string; revision: number }
  return verdict === 'UNCHANGED' && then === revision
}
