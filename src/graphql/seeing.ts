/** What of the live changes somebody is told who sees less than everything: judged by the database as it is now, once for all who see as much. */
import type { Change } from '../domain/change.ts'
import { type Sight, sightKey } from '../domain/sight.ts'
import type { Database, Session } from '../store/database.ts'
import { narrow, seeChanges } from '../store/sight.ts'

export type See = (changes: readonly Change[]) => Promise<readonly (Change | null)[]>

/** Questions that are under way. */
const asked = new WeakMap<Session, Map<string, ReturnType<See>>>()

export function seeingOf({ session }: Pick<Database, 'session'>, sight: Sight): See {
  let underWay = asked.get(session)
  if (!underWay) {
    underWay = new Map()
    asked.set(session, underWay)
  }
  const [questions, who, narrowed] = [underWay, sightKey(sight), narrow(session, sight)]
  return (changes) => {
    const question = `${who} ${changes.map(({ revision }) => revision).join()}`
    let answer = questions.get(question)
    if (!answer) {
      answer = seeChanges(narrowed, changes).then((seen) => seen.map(({ change }) => change))
      questions.set(question, answer)
      const forget = (): void => void questions.delete(question)
      answer.then(forget, forget)
    }
    return answer
  }
}
