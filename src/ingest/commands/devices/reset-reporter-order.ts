import { noMarks } from '../../../domain/transition/order.ts'
import type { Command } from '../../command.ts'
import { requireDevice } from '../../devices.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'

/** Accepts its next report as the newest, for a reporter with a wrong clock or counter. */
export function resetReporterOrder(reporter: string): Command<{ key: number; deployments: number }> {
  return {
    needs: { devices: [reporter], reporters: [reporter] },
    decide(work) {
      const { key } = requireDevice(work, reporter, 'reporter')
      return { key, deployments: clearMarks(work, reporter) }
    },
  }
}

/** Returns the number of deployments of the reporter. */
export function clearMarks(work: UnitOfWork, reporter: string): number {
  const deployments = work.deploymentsOf(reporter)
  for (const known of deployments) {
    const deployment = { ...known, marks: noMarks }
    work.apply(known, { verdict: 'UNCHANGED', staleBy: null, deployment, changes: [] }, null)
  }
  return deployments.length
}
