/** Convergence as marks, versions and counts: what deployments run, compared with their target versions. */
import { graphql } from '../data/graphql.ts'
import { type Convergence, convergenceOrder, convergenceWords, formatNumber } from '../data/labels.ts'
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

/** INSTALLED deployments by convergence, because some are installed in an older version. */
interface InstalledCounts {
  readonly total: number
  readonly convergence: ConvergenceCounts
}

interface AgainstProps extends Pick<LegendProps, 'to'> {
  /** The number of all. */
  readonly counts: ConvergenceCounts
  readonly installed: InstalledCounts
}

/** Shown below the bar of states if any deployment has a target version. */
export function ConvergenceSummary({ counts, installed, to }: AgainstProps) {
  if (!hasTargetVersion(counts)) return null
  const { converged, stale, unknown } = installed.convergence
  return (
    <div class="against">
      <p>
        <b class="number">{formatNumber(installed.total)}</b> installed: <b class="number">{formatNumber(converged)}</b>{' '}
        up to date
        {stale > 0 && (
          <>
            , <b class="number">{formatNumber(stale)}</b> on an older version
          </>
        )}
        {unknown > 0 && (
          <>
            , <b class="number">{formatNumber(unknown)}</b> without a target version, or with no version reported
          </>
        )}
      </p>
      <ConvergenceLegend counts={counts} to={to} />
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
