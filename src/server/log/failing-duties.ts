/** Log entries about background duties that fail in each round, such as the archive while its bucket is away: one at the begin, and one at the end. */
import type { Log } from '../../platform/log/log.ts'
import type { Outage } from './outage.ts'

interface FailingDuties {
  failed(error: unknown, duty: string): void
  succeeded(duty: string): void
}

export function createFailingDuties({ note }: Pick<Outage, 'note'>, log: Pick<Log, 'info'>): FailingDuties {
  /** By duty: whether the log says that it fails. To learn what a failure is takes time, in which the duty may go on. */
  const said = new Map<string, Promise<boolean>>()
  return {
    failed(error, duty) {
      const before = said.get(duty) ?? Promise.resolve(false)
      const fails = note(`the background duty ${duty} failed: trying again`)
      said.set(
        duty,
        before.then((isSaid) => isSaid || fails(error)),
      )
    },
    succeeded(duty) {
      const before = said.get(duty)
      if (!before) return
      const ended = before.then((isSaid) => {
        if (isSaid) log.info(`the background duty ${duty} succeeds again`)
        return false
      })
      said.set(duty, ended)
    },
  }
}
