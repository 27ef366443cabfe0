import type { Command } from '../../command.ts'
import { requireDevice } from '../../devices.ts'

/** Accepts its next report as the newest, for a reporter with a wrong clock or counter. */
export function resetReporterOrder(reporter: string): Command<{ key: number; deployments: number }> {
  return {
    needs: { devices: [reporter], reporters: [reporter] },
    decide(work) {
      const { key } = requireDevice(work, reporter, 'reporter')
      return { key, deployments: work.clearMarks(reporter) }
    },
  }
}
