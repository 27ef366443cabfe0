/** What the problems of a rollout have in common, found by comparing all of its deployments. docs/insight.md has the method. */
import { describeGroup, writeGroup } from '../../data/causes.ts'
import type { Insight, Problem } from '../../data/insight.ts'
import { formatNumber, formatShare, plural } from '../../data/labels.ts'
import type { Parameters } from '../../route.ts'
import { StateMark } from '../states/state-mark.tsx'

type Cause = Problem['causes'][number]

const words: Readonly<Record<Problem['problem'], string>> = {
  FAILED: 'failed',
  STALLED: 'stalled',
  WAITING: 'waiting',
}

/** These select the deployments with the problem. */
const filters: Readonly<Record<Problem['problem'], Parameters>> = {
  FAILED: { state: 'FAILED' },
  STALLED: { state: ['PENDING', 'INSTALLING', 'INSTALLED', 'REMOVING', 'REMOVED'], stalled: 'true' },
  WAITING: { waiting: 'true' },
}

interface DiagnosisProps {
  readonly of: Insight
  /** The address of the list of deployments with these filters. */
  readonly to: (parameters: Parameters) => string
}

/** Nothing if no deployment has a problem. */
export function Diagnosis({ of: { diagnosis, refusal }, to }: DiagnosisProps) {
  // To wait is normal unless what waits has something in common.
  const problems = diagnosis?.problems.filter(({ problem, causes }) => problem !== 'WAITING' || causes.length > 0) ?? []
  if (refusal === null && problems.length === 0) return null
  return (
    <section class="panel" aria-labelledby="diagnosis">
      <h2 id="diagnosis">
        Likely causes {diagnosis && <small class="muted">{plural(diagnosis.examined, 'deployment')} compared</small>}
      </h2>
      {refusal !== null && <p class="muted">Not compared: {refusal}.</p>}
      {problems.map((problem) => (
        <ProblemCauses key={problem.problem} of={problem} to={to} />
      ))}
    </section>
  )
}

interface ProblemProps {
  readonly of: Problem
  readonly to: DiagnosisProps['to']
}

function ProblemCauses({ of: problem, to }: ProblemProps) {
  const { count, causes, explained } = problem
  const word = words[problem.problem]
  return (
    <div class="diagnosis">
      <h3>
        <StateMark of={problem.problem}>
          {`${plural(count, `${word} deployment`)}${causes.length > 0 ? `, ${formatShare(explained, 1)} explained` : ''}`}
        </StateMark>
      </h3>
      {causes.length === 0 ? (
        <p class="muted">Nothing sets them apart from the others beyond chance.</p>
      ) : (
        <ul>
          {causes.map((cause) => (
            <CauseLine key={writeGroup(cause.trait)} of={cause} problem={problem} to={to} />
          ))}
        </ul>
      )}
    </div>
  )
}

function CauseLine({
  of: cause,
  problem,
  to,
}: { readonly of: Cause; readonly problem: Problem } & Pick<ProblemProps, 'to'>) {
  const { trait, alike, count, share, lift, summary } = cause
  const word = words[problem.problem]
  const onlyThere = share === 1 ? 'only there' : 'only there, besides other causes'
  return (
    <li class={problem.problem.toLowerCase()}>
      <a href={to({ ...filters[problem.problem], group: writeGroup(trait) })}>
        <b>{describeGroup(trait)}</b> <span class="number">{plural(count, 'deployment')}</span>
      </a>
      <span class="share-bar" aria-hidden="true">
        <i style={{ width: `${share * 100}%` }} />
      </span>
      <span class="numbers">
        <b class="number">{`${formatShare(share, 1)} of the ${word} ones`}</b>
        <b class="number">{lift === null ? onlyThere : `${formatNumber(round(lift))} × as often as elsewhere`}</b>
      </span>
      <small class="muted">{summary}</small>
      {alike.length > 0 && (
        <small class="muted">The same deployments have: {alike.map(describeGroup).join(', ')}.</small>
      )}
    </li>
  )
}

/** Two digits are enough. */
const round = (value: number): number => Number(value.toPrecision(value >= 10 ? 3 : 2))
