/** Whether objects are applied and whether they work, as marks and as a bar. */
import {
  formatNumber,
  type Readiness,
  readinessOrder,
  readinessWords,
  type SyncStatus,
  syncWords,
} from '../../data/labels.ts'
import { type Mark, StateMark } from './state-mark.tsx'

const readinessMarks: Readonly<Record<Readiness, Mark>> = {
  READY: 'INSTALLED',
  PENDING: 'WAITING',
  FAILED: 'FAILED',
  UNKNOWN: 'UNKNOWN',
}

const syncMarks: Readonly<Record<SyncStatus, Mark>> = {
  APPLIED: 'INSTALLED',
  PENDING: 'PENDING',
  RETRYING: 'RETRYING',
  FAILED: 'FAILED',
  DELETED: 'REMOVED',
}

export function ReadinessMark({ of, isBare = false }: { readonly of: Readiness; readonly isBare?: boolean }) {
  return (
    <StateMark of={readinessMarks[of]} isBare={isBare}>
      {readinessWords[of]}
    </StateMark>
  )
}

/** Applied is the normal case, so it is shown in grey. */
export function SyncMark({ of }: { readonly of: SyncStatus }) {
  return of === 'APPLIED' ? (
    <span class="muted">{syncWords.APPLIED}</span>
  ) : (
    <StateMark of={syncMarks[of]}>{syncWords[of]}</StateMark>
  )
}

const segments: Readonly<Record<Readiness, string>> = {
  READY: 'installed',
  PENDING: 'pending',
  FAILED: 'failed',
  UNKNOWN: 'removed',
}

/** As the API counts. */
type ReadinessCounts = Readonly<Record<Lowercase<Readiness>, number>>

export const countOfReadiness = (counts: ReadinessCounts, readiness: Readiness): number =>
  counts[readiness.toLowerCase() as Lowercase<Readiness>]

export function ReadinessBar({ counts, label }: { readonly counts: ReadinessCounts; readonly label: string }) {
  const present = readinessOrder.filter((readiness) => countOfReadiness(counts, readiness) > 0)
  const words = present.map(
    (readiness) => `${formatNumber(countOfReadiness(counts, readiness))} ${readinessWords[readiness].toLowerCase()}`,
  )
  return (
    <div class="bar" role="img" aria-label={`${label}: ${words.join(', ') || 'none'}`}>
      {present.map((readiness) => (
        <span
          key={readiness}
          class={`segment ${segments[readiness]}`}
          style={{ flexGrow: countOfReadiness(counts, readiness) }}
          title={`${readinessWords[readiness]}: ${formatNumber(countOfReadiness(counts, readiness))}`}
        />
      ))}
    </div>
  )
}
