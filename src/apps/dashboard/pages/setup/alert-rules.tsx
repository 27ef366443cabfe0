/** Alert rules: what each compares, how many of its alerts fire, and a form to create and edit them. */
import { useState } from 'preact/hooks'
import { ask } from '../../data/api.ts'
import { graphql } from '../../data/graphql.ts'
import { formatNumber, plural } from '../../data/labels.ts'
import { formatSpan, formatTime } from '../../data/time.ts'
import { useLiveAnswer, useReload } from '../../data/use-query.ts'
import { ErrorMessage } from '../../widgets/error-message.tsx'
import { severityMarks } from '../../widgets/failures/alerts.tsx'
import { type Action, Confirmation } from '../../widgets/lists/selection.tsx'
import {
  type ListedRule,
  metricWords,
  RuleForm,
  type RuleInput,
  ruleFragment,
  saveRuleDocument,
} from '../../widgets/setup/rule-form.tsx'
import { StateMark } from '../../widgets/states/state-mark.tsx'

const rulesDocument = graphql(`query AlertRules { revision alertRules { ...ListedRule } }`, [ruleFragment])
const deleteRuleDocument = graphql(`
  mutation DeleteRule($input: DeleteAlertRuleInput!) { deleteAlertRule(input: $input) { __typename ... on UserError { message } } }
`)

export function AlertRules() {
  const [version, reload] = useReload()
  const [edited, setEdited] = useState<ListedRule | null>(null)
  const { data, error } = useLiveAnswer(
    rulesDocument,
    {},
    { kinds: ['ALERT_RAISED', 'ALERT_RESOLVED', 'ALERT_ACKNOWLEDGED'] },
    { version },
  )
  const save = async (input: RuleInput): Promise<string | null> => {
    const { saveAlertRule: result } = await ask(saveRuleDocument, { input })
    if ('message' in result) return result.message
    setEdited(null)
    reload()
    return null
  }
  return (
    <div class="columns">
      <section class="panel" aria-labelledby="rules">
        <h2 id="rules">Alert rules</h2>
        {error && <ErrorMessage error={error} />}
        {data?.alertRules.length === 0 && (
          <p class="empty">No alert rules. A rule compares a number of deployments with a threshold.</p>
        )}
        <ul class="setup-list">
          {data?.alertRules.map((rule) => (
            <RuleLine key={rule.name} of={rule} edit={() => setEdited(rule)} save={save} deleted={reload} />
          ))}
        </ul>
      </section>
      <section class="panel" aria-labelledby="rule">
        <h2 id="rule">{edited ? `Edit ${edited.name}` : 'New rule'}</h2>
        <RuleForm key={edited?.name ?? ''} of={edited} save={save} cancel={() => setEdited(null)} />
      </section>
    </div>
  )
}

interface LineProps {
  readonly of: ListedRule
  readonly edit: () => void
  readonly save: (input: RuleInput) => Promise<string | null>
  readonly deleted: () => void
}

function RuleLine({ of: rule, edit, save, deleted }: LineProps) {
  const [isConfirming, setIsConfirming] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const { name, severity, enabled, origin } = rule
  const [mark, word] = severityMarks[severity]
  const remove: Action = {
    word: 'Delete',
    effect: 'Its alerts are resolved and remain readable.',
    reason: 'none',
    run: async () => {
      const { deleteAlertRule: result } = await ask(deleteRuleDocument, { input: { name } })
      return 'message' in result ? result.message : null
    },
  }
  return (
    <li class={enabled ? undefined : 'over'}>
      <b>
        <bdi>{name}</bdi>
      </b>
      <StateMark of={mark}>{word}</StateMark>
      <span class="acts">
        {origin === 'FILE' ? (
          <small class="muted">from ALERT_RULES</small>
        ) : (
          <>
            <button type="button" class="quiet" aria-label={`Edit ${name}`} onClick={edit}>
              Edit
            </button>
            <button
              type="button"
              class="quiet"
              aria-label={`${enabled ? 'Disable' : 'Enable'} ${name}`}
              onClick={() => void save({ ...inputOf(rule), enabled: !enabled }).then(setProblem)}
            >
              {enabled ? 'Disable' : 'Enable'}
            </button>
            <button type="button" class="quiet" aria-label={`Delete ${name}`} onClick={() => setIsConfirming(true)}>
              Delete…
            </button>
          </>
        )}
      </span>
      <small class="muted">
        {describe(rule)} · <Firing of={rule} />
      </small>
      {problem !== null && (
        <p class="trouble-text" role="alert">
          {problem}
        </p>
      )}
      {isConfirming && (
        <Confirmation
          action={remove}
          ids={[]}
          what={`the rule ${name}`}
          done={deleted}
          close={() => setIsConfirming(false)}
        />
      )}
    </li>
  )
}

function Firing({ of: { enabled, firingCount } }: { readonly of: ListedRule }) {
  if (!enabled) return 'disabled'
  if (firingCount === 0) return 'not firing'
  return <b>{firingCount === 1 ? 'firing' : `${plural(firingCount, 'alert')} firing`}</b>
}

/** The fields that `saveAlertRule` takes. */
function inputOf({ firingCount: _, origin: __, ...rule }: ListedRule): RuleInput {
  return {
    ...rule,
    labels: rule.labels.map(({ key, value }) => ({ key, value })),
    selector: rule.selector as NonNullable<RuleInput['selector']>,
  }
}

/** `Alert when 5 or more failed, for 1 min, for each rollout` */
function describe(rule: ListedRule): string {
  const { forSeconds, perRollout, selector } = rule
  return [
    `Alert when ${conditionOf(rule)}`,
    forSeconds > 0 && `for ${formatSpan(forSeconds * 1_000)}`,
    perRollout ? 'for each rollout' : 'whole fleet',
    Object.keys(selector as object).length > 0 && 'of selected deployments',
  ]
    .filter(Boolean)
    .join(', ')
}

function conditionOf({ metric, unit, threshold, deadline }: ListedRule): string {
  const span = formatSpan(threshold * 1_000)
  switch (metric) {
    case 'SUCCESS_RATE':
      return `the success rate is below ${formatNumber(threshold)} %`
    case 'NO_PROGRESS':
      return `there is no progress for ${span} or longer`
    case 'TIME_LEFT':
      return `${span} or more are left until the forecast end`
    case 'DELAY':
      return `the forecast end is ${span} or more after ${deadline === null ? 'the deadline' : formatTime(deadline)}`
    default:
      return `${formatNumber(threshold)}${unit === 'PERCENT' ? ' %' : ''} or more ${metricWords[metric].toLowerCase()}`
  }
}
