/** The form of an alert rule. What it does not show, such as a selector by rollout, an edited rule keeps. */
import { useState } from 'preact/hooks'
import { type FragmentOf, graphql, type VariablesOf } from '../../data/graphql.ts'
import { Check, Field, Form, labelsOf, numberOf, Select, TextArea, textOf, writeLabels } from './form.tsx'

export const ruleFragment = graphql(`
  fragment ListedRule on AlertRule {
    name description metric unit threshold resolveThreshold deadline forSeconds perRollout minimum severity runbookUrl enabled
    selector firingCount origin labels { key value }
  }
`)

export const saveRuleDocument = graphql(`
  mutation SaveRule($input: SaveAlertRuleInput!) { saveAlertRule(input: $input) { __typename ... on UserError { message } } }
`)

export type ListedRule = FragmentOf<typeof ruleFragment>
export type RuleInput = VariablesOf<typeof saveRuleDocument>['input']
type Metric = ListedRule['metric']

export const metricWords: Readonly<Record<Metric, string>> = {
  FAILED: 'Failed',
  STALLED: 'Stalled',
  OFFLINE: 'Offline',
  NOT_CONVERGED: 'Not converged',
  STALE: 'On an older version',
  SUCCESS_RATE: 'Success rate',
  NO_PROGRESS: 'Without progress',
  TIME_LEFT: 'Unfinished, by time left',
  DELAY: 'Unfinished, by delay',
}

const timeHints: Readonly<Partial<Record<Metric, string>>> = {
  NO_PROGRESS: 'seconds',
  TIME_LEFT: 'seconds until the forecast end',
  DELAY: 'seconds from the deadline to the forecast end',
}
const units = { COUNT: 'deployments', PERCENT: '% of the deployments' }
/** As an input of the type datetime-local has it. */
const localTime = (time: string): string => {
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

const severities = { CRITICAL: 'Critical', WARNING: 'Warning', INFO: 'Info' }

interface RuleFormProps {
  /** Null: a new rule. */
  readonly of: ListedRule | null
  readonly save: (input: RuleInput) => Promise<string | null>
  readonly cancel: () => void
}

const isForecast = (metric: Metric): boolean => metric === 'TIME_LEFT' || metric === 'DELAY'

function selectorOf(rule: ListedRule | null): NonNullable<RuleInput['selector']> {
  return (rule?.selector ?? {}) as NonNullable<RuleInput['selector']>
}

/** `unit`: null where the metric has none. What the form does not show is kept. */
function ruleInputOf(
  rule: ListedRule | null,
  metric: Metric,
  unit: ListedRule['unit'] | null,
  values: FormData,
): RuleInput {
  const only = labelsOf(values, 'only')
  const deadline = textOf(values, 'deadline')
  const { labels: _, ...others } = selectorOf(rule)
  return {
    ...{ name: textOf(values, 'name') ?? '', metric, ...(unit && { unit }) },
    ...{ threshold: numberOf(values, 'threshold') ?? 0, resolveThreshold: numberOf(values, 'resolveThreshold') },
    ...{ forSeconds: numberOf(values, 'forSeconds') ?? 0, minimum: numberOf(values, 'minimum') ?? 1 },
    ...(metric === 'DELAY' && deadline && { deadline: new Date(deadline).toISOString() }),
    ...{ perRollout: isForecast(metric) || values.has('perRollout'), enabled: rule?.enabled ?? true },
    ...{ severity: textOf(values, 'severity') as ListedRule['severity'], labels: labelsOf(values, 'labels') },
    ...{ runbookUrl: textOf(values, 'runbookUrl'), description: textOf(values, 'description') },
    selector: { ...others, ...(only.length > 0 && { labels: only }) },
  }
}

interface ThresholdsProps {
  readonly of: ListedRule | null
  readonly metric: Metric
  /** What the numbers count. */
  readonly word: string | undefined
}

function Thresholds({ of: rule, metric, word }: ThresholdsProps) {
  const isRate = metric === 'SUCCESS_RATE'
  return (
    <>
      {metric === 'DELAY' && (
        <Field
          label="Deadline"
          name="deadline"
          type="datetime-local"
          step={1}
          required
          defaultValue={rule?.deadline ? localTime(rule.deadline) : ''}
        />
      )}
      <Field
        label={isRate ? 'Alert below' : 'Alert at or above'}
        name="threshold"
        type="number"
        step="any"
        min={0}
        required
        defaultValue={rule ? String(rule.threshold) : ''}
        hint={word}
      />
      <Field
        label={isRate ? 'Resolve at or above (optional)' : 'Resolve below (optional)'}
        name="resolveThreshold"
        type="number"
        step="any"
        min={metric === 'DELAY' ? undefined : 0}
        defaultValue={rule ? String(rule.resolveThreshold) : ''}
        hint="Empty: the alert value."
      />
    </>
  )
}

export function RuleForm({ of: rule, save, cancel }: RuleFormProps) {
  const [metric, setMetric] = useState<Metric>(rule?.metric ?? 'FAILED')
  const [unit, setUnit] = useState(rule?.unit ?? 'COUNT')
  const isTime = isForecast(metric) || metric === 'NO_PROGRESS'
  const hasUnit = !isTime && metric !== 'SUCCESS_RATE'
  const word = isTime ? timeHints[metric] : metric === 'SUCCESS_RATE' ? '%' : units[unit]
  return (
    <Form
      label={rule ? `Edit ${rule.name}` : 'New rule'}
      word={rule ? 'Save rule' : 'Create rule'}
      submit={(values) => save(ruleInputOf(rule, metric, hasUnit ? unit : null, values))}
      cancel={rule ? cancel : undefined}
    >
      <Field
        label="Name"
        name="name"
        required
        maxLength={256}
        defaultValue={rule?.name ?? ''}
        readOnly={rule !== null}
        hint={rule ? undefined : 'A rule with the same name is replaced.'}
      />
      <Select label="Severity" name="severity" options={severities} value={rule?.severity ?? 'WARNING'} />
      <Select
        label="Deployments that are"
        name="metric"
        options={metricWords}
        value={metric}
        chosen={(value) => setMetric(value as Metric)}
      />
      {hasUnit && (
        <Select
          label="Compared as"
          name="unit"
          options={{ COUNT: 'Number', PERCENT: 'Percentage' }}
          value={unit}
          chosen={(value) => setUnit(value as typeof unit)}
        />
      )}
      <Thresholds of={rule} metric={metric} word={word} />
      <Field
        label="Delay"
        name="forSeconds"
        type="number"
        min={0}
        defaultValue={String(rule?.forSeconds ?? 60)}
        hint="seconds that the value must last"
      />
      <Field
        label="Ignore if fewer deployments than"
        name="minimum"
        type="number"
        min={1}
        defaultValue={String(rule?.minimum ?? 1)}
        hint="Only if a percentage is compared."
      />
      {!isForecast(metric) && (
        <Field
          label="Only on devices labelled (optional)"
          name="only"
          placeholder="site=munich"
          defaultValue={writeLabels(selectorOf(rule).labels ?? [])}
        />
      )}
      <Field
        label="Labels of the alert (optional)"
        name="labels"
        placeholder="team=edge"
        defaultValue={writeLabels(rule?.labels ?? [])}
      />
      <Field
        label="Runbook (optional)"
        name="runbookUrl"
        type="url"
        placeholder="https://…"
        defaultValue={rule?.runbookUrl ?? ''}
      />
      {!isForecast(metric) && (
        <div class="field">
          <Check name="perRollout" defaultChecked={rule?.perRollout ?? false} label="One alert for each rollout" />
        </div>
      )}
      <TextArea
        label="What it means and what to do (optional)"
        name="description"
        rows={2}
        maxLength={2_000}
        defaultValue={rule?.description ?? ''}
      />
    </Form>
  )
}
