/** The enums of alerts. Their values are those of the domain. */
import type { AlertMetric, AlertSeverity, AlertState, AlertUnit, Resolution } from '../../../../domain/alerts/alert.ts'
import type { RuleOrigin } from '../../../../store/alerts/rows.ts'
import { builder } from '../../builder.ts'

type Described<Value extends string> = { readonly [V in Value]: { readonly description: string } }

export const AlertMetricEnum = builder.enumType('AlertMetric', {
  description: 'What an alert rule compares with its threshold.',
  values: {
    FAILED: { description: 'Deployments in the state FAILED.' },
    STALLED: { description: 'Stalled deployments.' },
    OFFLINE: { description: 'Deployments on devices that are OFFLINE.' },
    STALE: { description: 'Deployments whose convergence is STALE: a newer desired state was not picked up.' },
    NOT_CONVERGED: { description: 'Deployments whose convergence is APPLYING, FAILED or STALE.' },
    NO_PROGRESS: {
      description: 'Seconds since the last change of a deployment, while some are PENDING, INSTALLING or REMOVING.',
    },
    SUCCESS_RATE: {
      description: 'Percentage of INSTALLED among INSTALLED and FAILED. The alert is raised below the threshold.',
    },
    TIME_LEFT: { description: 'Seconds until a rollout is done, as its forecast `eta` says: the median.' },
    DELAY: { description: 'Seconds from `deadline` to the forecast end of a rollout. Negative: it is done before.' },
  } satisfies Described<AlertMetric>,
})

export const AlertUnitEnum = builder.enumType('AlertUnit', {
  description: 'The unit of a threshold that counts deployments.',
  values: {
    COUNT: { description: 'The number of deployments.' },
    PERCENT: { description: 'The percentage of the deployments that the rule selects.' },
  } satisfies Described<AlertUnit>,
})

export const AlertSeverityEnum = builder.enumType('AlertSeverity', {
  description: 'How urgent an alert is.',
  values: {
    CRITICAL: { description: 'It needs action now.' },
    WARNING: { description: 'It needs action soon.' },
    INFO: { description: 'It needs no action.' },
  } satisfies Described<AlertSeverity>,
})

export const AlertStateEnum = builder.enumType('AlertState', {
  description: 'The state of an alert.',
  values: {
    FIRING: { description: 'Raised and not resolved.' },
    RESOLVED: { description: 'Resolved. A new breach of the threshold raises a new alert.' },
  } satisfies Described<AlertState>,
})

export const AlertResolutionEnum = builder.enumType('AlertResolution', {
  description: 'Why an alert was resolved.',
  values: {
    RECOVERED: { description: 'The value is beyond the resolve threshold again.' },
    RULE_CHANGED: { description: 'The rule was changed. It is evaluated again from the beginning.' },
    RULE_DELETED: { description: 'The rule was deleted.' },
  } satisfies Described<Resolution>,
})

export const AlertRuleOriginEnum = builder.enumType('AlertRuleOrigin', {
  description: 'Where an alert rule is defined.',
  values: {
    API: { description: 'By `saveAlertRule`.' },
    FILE: { description: 'In the file of `ALERT_RULES`. Only the file can change it.' },
  } satisfies Described<RuleOrigin>,
})
