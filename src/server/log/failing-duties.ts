/** Log entries about background duties that fail in each round, such as the archive while its bucket is away: one at the begin, and one at the end. */
import type { Log } from '../../platform/log/log.ts'
import type { Outage } from './outage.ts'

interface FailingDuties {
  failed(error: unknown, duty: string): void
  succeeded(duty: string): void
}

export function createFailingDuties({ note }: Pick<Outage, 'note'>, log: Pick<Log, 'info'>): FailingDuties {
  const said = new Set<string>()
  return {
    failed(error, duty) {
      if (said.has(duty)) return
      void note(`the background duty ${duty} failed: trying again`)(error).then(
        (isLogged) => isLogged && said.add(duty),
      )
    },
    succeeded(duty) {
      if (said.delete(duty)) log.info(`the background duty ${duty} succeeds again`)
    },
  }
}
