/** What deployments should run beside what they say they run: as marks, in versions, in numbers. */
import { graphql } from './graphql.ts'
import { type Mark, StateMark } from './state-mark.tsx'
import { type Convergence, convergenceOrder, convergenceWords, formatNumber } from './words.ts'

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

/** In a table: the version it is on, and the one meant where that is another. Quiet where nothing is meant. */
export function Versions({ deployment }: VersionsProps) {
  const { convergence, adoptedManifestVersion: adopted, targetManifestVersion: target } = deployment
  if (target === null) return adopted === null ? null : <span class="muted">{adopted}</span>
  const isOn = convergence !== 'STALE' && adopted !== null
  const title = `Version ${target} is meant; ${adopted === null ? 'it says of none that it is on it' : `it is on ${adopted}`}`
  return (
    <span class="versions" title={title}>
      {convergence !== 'UNKNOWN' && <ConvergenceMark of={convergence} isBare />}
      {isOn ? (
        target
      ) : (
        <>
          {adopted ?? '?'} <span aria-hidden="true">→</span>
          <span class="unseen">, meant is</span> {target}
        </>
      )}
    </span>
  )
}

export const convergenceCountsFragment = graphql(
  `fragment ConvergenceNumbers on ConvergenceCounts { converged applying failed stale unknown }`,
)

export type ConvergenceCounts = Readonly<Record<Lowercase<Convergence>, number>>

const countOf = (counts: ConvergenceCounts, convergence: Convergence): number =>
  counts[convergence.toLowerCase() as Lowercase<Convergence>]

/** Whether anything is meant of anybody who says what he is on. */
export const isMeant = ({ converged, applying, failed, stale }: ConvergenceCounts): boolean =>
  converged + applying + failed + stale > 0

interface LegendProps {
  readonly counts: ConvergenceCounts
  readonly to: (convergence: Convergence) => string
}

export function ConvergenceLegend({ counts, to }: LegendProps) {
  return (
    <ul class="legend" aria-label="Against what is meant">
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

/** Of those that are INSTALLED: how many are what was meant, and how many only say so of something older. */
export interface InstalledCounts {
  readonly total: number
  readonly convergence: ConvergenceCounts
}

interface AgainstProps extends Pick<LegendProps, 'to'> {
  /** Of all of them. */
  readonly counts: ConvergenceCounts
  readonly installed: InstalledCounts
}

/** Under the bar of states. Nothing where nothing is meant. */
export function AgainstWhatIsMeant({ counts, installed, to }: AgainstProps) {
  if (!isMeant(counts)) return null
  const { converged, stale, unknown } = installed.convergence
  return (
    <div class="against">
      <p>
        <b class="number">{formatNumber(installed.total)}</b> installed, <b class="number">{formatNumber(converged)}</b>{' '}
        of them on the version meant
        {stale > 0 && (
          <>
            , <b class="number">{formatNumber(stale)}</b> {stale === 1 ? 'says' : 'say'} it of an older one
          </>
        )}
        {unknown > 0 && (
          <>
            ; of <b class="number">{formatNumber(unknown)}</b> that is not known
          </>
        )}
      </p>
      <ConvergenceLegend counts={counts} to={to} />
    </div>
  )
}

/** A verdict in a sentence. */
export function sayConvergence(
  convergence: Convergence,
  target: string | null,
  adopted: string | null,
  isWithdrawn: boolean,
): string {
  if (target === null) return 'Nobody declared a document: what it should run is not known.'
  switch (convergence) {
    case 'CONVERGED':
      return isWithdrawn ? 'It should be removed, and is.' : 'It runs what is meant.'
    case 'APPLYING':
      return isWithdrawn
        ? 'It knows that it should be removed, and is not yet.'
        : 'It has what is meant, and is not done with it.'
    case 'FAILED':
      return 'It failed on what is meant.'
    case 'STALE':
      return `Whatever it says, it says of version ${adopted}: it has not adopted version ${target} yet.`
    case 'UNKNOWN':
      return 'It does not say which version it has adopted.'
  }
}
