/** Metrics of reads from standbys. A standby's label is its place in DATABASE_READ_URL. Without one, there are no series. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { StandbyState, Standbys } from '../../store/database.ts'

export function registerStandbyMetrics(registry: Registry, standbys: Standbys | undefined): void {
  const registers = [registry]
  const states = (): readonly StandbyState[] => standbys?.states() ?? []
  new Counter({
    name: 'rollcall_reads_total',
    help: 'Snapshots of the database, by the server that served them: `primary`, or the number of a standby.',
    labelNames: ['server'],
    registers,
    collect() {
      this.reset()
      if (standbys) this.inc({ server: 'primary' }, standbys.primaryReads())
      for (const { number, reads } of states()) this.inc({ server: String(number) }, reads)
    },
  })
  const gauge = (name: string, help: string, read: (state: StandbyState) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: ['standby'],
      registers,
      collect() {
        for (const state of states()) this.set({ standby: String(state.number) }, read(state))
      },
    })
  gauge('rollcall_standby_used', '1: the standby is read. 0: it is left out.', ({ problem }) =>
    Number(problem === null),
  )
  gauge(
    'rollcall_standby_lag_seconds',
    'Seconds that the standby is behind the primary.',
    ({ lag }) => lag?.seconds ?? Number.NaN,
  )
  gauge(
    'rollcall_standby_lag_revisions',
    'Revisions that the standby is behind the primary.',
    ({ lag }) => lag?.revisions ?? Number.NaN,
  )
}
