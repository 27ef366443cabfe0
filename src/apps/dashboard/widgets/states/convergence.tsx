/** Convergence as marks, versions and counts: what deployments run, compared with their target versions. */
import { Fragment } from 'preact'
import { graphql } from '../../data/graphql.ts'
import { type Convergence, convergenceOrder, convergenceWords, formatNumber, insideStates } from '../../data/labels.ts'
import type { Parameters } from '../../route.ts'
import { type Mark, StateMark } from './state-mark.tsx'

const marks: Readonly<Record<Convergence, Mark>> = {
  CONVERGED: 'CONVERGED',
  APPLYING: 'APPLYING',
  FAILED: 'FAILED',
  STALE: 'STALE',
  UNKNOWN: 'UNKNOWN',
}

interface MarkProps {
  readonly of: Convergence
  readonly isBare?: boolean
}

export function ConvergenceMark({ of, isBare = false }: MarkProps) {
  return (
    <StateMark of={marks[of]} isBare={isBare}>
      {convergenceWords[of]}
    </StateMark>
  )
}

interface VersionsProps {
  readonly deployment: {
    readonly convergence: Convergence
    readonly adoptedManifestVersion: string | null
    readonly targetManifestVersion: string | null
  }
}

/** A table cell: the adopted version, and the target version if it differs. Muted without a target. */
export function Versions({ deployment }: VersionsProps) {
  const { convergence, adoptedManifestVersion: adopted, targetManifestVersion: target } = deployment
  if (target === null) return adopted === null ? null : <span class="muted">{adopted}</span>
  const isOn = convergence !== 'STALE' && adopted !== null
  const title = `Target version ${target}, adopted version ${adopted ?? 'not reported'}`
  return (
    <span class="versions" title={title}>
      {convergence !== 'UNKNOWN' && <ConvergenceMark of={convergence} isBare />}
      {isOn ? (
        target
      ) : (
        <>
          {adopted ?? '?'} <span aria-hidden="true">→</span>
          <span class="unseen">, target</span> {target}
        </>
      )}
    </span>
  )
}

export const convergenceCountsFragment = graphql(
  `fragment ConvergenceNumbers on ConvergenceCounts { converged applying failed stale unknown }`,
)

type ConvergenceCounts = Readonly<Record<Lowercase<Convergence>, number>>

const countOf = (counts: ConvergenceCounts, convergence: Convergence): number =>
  counts[convergence.toLowerCase() as Lowercase<Convergence>]

/** Whether any deployment has both a target version and an adopted one. */
const hasTargetVersion = ({ converged, applying, failed, stale }: ConvergenceCounts): boolean =>
  converged + applying + failed + stale > 0

interface LegendProps {
  readonly counts: ConvergenceCounts
  readonly to: (convergence: Convergence) => string
}

function ConvergenceLegend({ counts, to }: LegendProps) {
  return (
    <ul class="legend" aria-label="Convergence">
      {convergenceOrder.map((convergence) => (
        <li key={convergence}>
          <a href={to(convergence)} class={countOf(counts, convergence) === 0 ? 'none' : undefined}>
            <ConvergenceMark of={convergence} />
            <b class="number">{formatNumber(countOf(counts, convergence))}</b>
          </a>
        </li>
      ))}
    </ul>
  )
}

/** Deployments in some states, by convergence. */
interface ComparedCounts {
  readonly total: number
  readonly convergence: ConvergenceCounts
}

interface SummaryProps {
  /** All, also those that are removed on purpose. */
  readonly counts: ConvergenceCounts
  /** Those that should be there. */
  readonly inside: ComparedCounts
  /** INSTALLED deployments, because some are installed in an older version. */
  readonly installed: ComparedCounts
  readonly to: (parameters: Parameters) => string
}

/** Shown below the bar of states if any deployment has a target version. As the bar, it compares what should be there, or else what is removed. */
export function ConvergenceSummary({ counts, inside, installed, to }: SummaryProps) {
  const isEmpty = inside.total === 0
  const compared = isEmpty ? counts : inside.convergence
  if (!hasTargetVersion(compared)) return null
  const { converged, applying, stale, unknown } = installed.convergence
  const parts = [
    { count: stale, words: 'on an older version' },
    { count: applying, words: 'withdrawn, not removed yet' },
    { count: unknown, words: 'without a target version, or with no version reported' },
  ]
  return (
    <div class="against">
      {!isEmpty && (
        <p>
          <b class="number">{formatNumber(installed.total)}</b> installed:{' '}
          <b class="number">{formatNumber(converged)}</b> up to date
          {parts.map(
            ({ count, words }) =>
              count > 0 && (
                <Fragment key={words}>
                  , <b class="number">{formatNumber(count)}</b> {words}
                </Fragment>
              ),
          )}
        </p>
      )}
      <ConvergenceLegend
        counts={compared}
        to={(convergence) => to({ convergence, ...(isEmpty ? {} : { state: insideStates }) })}
      />
    </div>
  )
}

/** Convergence as a sentence. */
export function describeConvergence(
  convergence: Convergence,
  target: string | null,
  adopted: string | null,
  isWithdrawn: boolean,
): string {
  if (target === null) return 'No document is declared. The target version is unknown.'
  switch (convergence) {
    case 'CONVERGED':
      return isWithdrawn ? 'Removed, as declared.' : `Up to date with version ${target}.`
    case 'APPLYING':
      return isWithdrawn ? 'Withdrawal picked up. Not removed yet.' : `Version ${target} picked up. Not installed yet.`
    case 'FAILED':
      return `Failed on version ${target}.`
    case 'STALE':
      return `Still on version ${adopted}. Version ${target} not picked up yet.`
    case 'UNKNOWN':
      return 'The device does not report which version it has adopted.'
  }
}
