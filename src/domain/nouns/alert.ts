import type { AlertSeverity, AlertState } from '../alerts/alert.ts'
import { type FilterDeclaration, flag, keys, texts, values } from './filter.ts'

export const alertFilter = {
  name: 'Alert',
  one: 'an alert',
  many: 'alerts',
  isFlat: true,
  conditions: {
    states: values<AlertState>('AlertState')('States.'),
    severities: values<AlertSeverity>('AlertSeverity')('Severities.'),
    rules: texts('Names of rules.'),
    rolloutIds: keys('Rollout', 'Node IDs of rollouts.'),
    acknowledged: flag('Whether it is acknowledged.'),
  },
} as const satisfies FilterDeclaration
