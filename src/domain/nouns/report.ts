import type { Verdict } from '../report.ts'
import { type FilterDeclaration, texts, values } from './filter.ts'

export const reportFilter = {
  name: 'Report',
  one: 'a report',
  many: 'reports',
  isFlat: true,
  conditions: {
    verdicts: values<Verdict>('Verdict')('Results of the reports. UNCHANGED reports are not stored.'),
    deploymentIds: texts('Deployment IDs, as their reporters assigned them.'),
  },
} as const satisfies FilterDeclaration
