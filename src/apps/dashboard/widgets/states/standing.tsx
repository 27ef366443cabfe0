/** How far deployments are. The number, the share, the bar and the legend have one denominator, and come from one answer. */
import { graphql } from '../../data/graphql.ts'
import { type Counts, expectedOf, formatNumber, formatShare, plural } from '../../data/labels.ts'
import { convergenceCountsFragment } from './convergence.tsx'

export const countsFragment = graphql(
  `
    fragment Counts on DeploymentCounts {
      total pending installing installed failed removing removed revision
      convergence { ...ConvergenceNumbers }
    }
  `,
  [convergenceCountsFragment],
)

/** Deployments in some states, compared with their target versions. */
export const comparedFragment = graphql(
  `fragment Compared on DeploymentCounts { total convergence { ...ConvergenceNumbers } }`,
  [convergenceCountsFragment],
)

interface Standing {
  readonly counts: Counts
  /** The number of INSTALLED deployments whose objects fail or are not ready on the cluster. */
  readonly broken?: number
}

/** `share` null: the share would say nothing. */
function describe({ counts, broken = 0 }: Standing, isObserved: boolean) {
  const expected = expectedOf(counts)
  const leaving = counts.removing + counts.removed
  if (expected === 0 && leaving > 0) return { part: counts.removed, whole: leaving, words: 'removed', share: null }
  const part = counts.installed - broken
  const words = isObserved || broken > 0 ? 'installed and working' : 'installed'
  return { part, whole: expected, words, share: formatShare(part, expected) }
}

interface HeadlineProps {
  readonly of: Standing
  /** Clusters report whether the deployments work. */
  readonly isObserved?: boolean
  /** The current run has failed, so a share of 100 % would be wrong. */
  readonly hasFailed?: boolean
}

export function Headline({ of, isObserved = false, hasFailed = false }: HeadlineProps) {
  const { part, whole, words, share } = describe(of, isObserved)
  return (
    <>
      <span class="number big">{formatNumber(part)}</span>
      <span class="muted">
        {' '}
        of {plural(whole, 'deployment')} {words}
      </span>
      {share !== null && !(hasFailed && part === whole) && <span class="number share">{share}</span>}
    </>
  )
}

/** The same in the cells of a list. */
export function ShortHeadline({ of, isObserved = false, hasFailed = false }: HeadlineProps) {
  const { part, whole, words, share } = describe(of, isObserved)
  const isRemoval = words === 'removed'
  return (
    <>
      <span class="number so-far" title={`${formatNumber(part)} of ${formatNumber(whole)} ${words}`}>
        {formatNumber(part)}
        <span class="muted"> of {formatNumber(whole)}</span>
      </span>
      <b class="number share">{isRemoval ? 'removed' : hasFailed && part === whole ? '' : share}</b>
    </>
  )
}
