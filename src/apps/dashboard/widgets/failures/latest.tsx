/**
 * What people changed last, which is often why something fails now: a declaration, a release, an action of an orchestrator. The lines are there
 * without such a change too, so nothing below moves when there is one.
 */
import type { ComponentChildren } from 'preact'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { byWhom, formatStatus, plural } from '../../data/labels.ts'
import { findLatestRelease } from '../../data/latest-release.ts'
import { formatAge, formatFull, now } from '../../data/time.ts'
import { useAnswer, useAsked } from '../../data/use-query.ts'
import { at, href, moment } from '../../route.ts'
import { Name } from '../name.tsx'

export const declarationFragment = graphql(
  `fragment Declared on Declaration { declaredAt declaredBy reason rollout { presentId name } }`,
)

/**
 * Requests of its own, at most once a minute: in a large log they may read many entries, or be refused because these changes are rare, and then
 * the rest of the page must still show.
 */
const latestDocument = graphql(`
  query LatestAction($asOf: DateTime, $rolloutIds: [ID!]) {
    acted: changes(filter: { kinds: [LIFECYCLE_ACTION_RECORDED], rolloutIds: $rolloutIds, before: $asOf }, last: 1) {
      nodes { at ... on LifecycleActionRecorded { action { state actor } rollout { presentId name } } }
    }
  }
`)

/** Milliseconds between two requests. */
const refreshInterval = 60_000

interface LatestProps {
  readonly declaration: FragmentOf<typeof declarationFragment> | null
  /** Null: the fleet. */
  readonly rolloutIds: readonly string[] | null
  /** Whether there are orchestrators. */
  readonly hasActions: boolean
}

export function Latest({ declaration, rolloutIds, hasActions }: LatestProps) {
  const variables = { asOf: at.value, rolloutIds: rolloutIds && [...rolloutIds] }
  const options = { version: Math.floor(now.value / refreshInterval) }
  const actions = useAnswer(latestDocument, variables, options)
  const releases = useAsked(JSON.stringify(variables), (signal) => findLatestRelease(variables, signal), options)
  // The last answers may be about another time.
  const found = releases.isCurrent ? releases.data : null
  const acted = actions.isCurrent ? actions.data : null
  const release = found?.release
  const [act] = acted?.acted.nodes ?? []
  const isFleet = rolloutIds === null
  return (
    <section class={`panel${isFleet ? '' : ' own'}`} aria-labelledby="latest">
      <h2 id="latest">What changed last</h2>
      <ul class="latest">
        <Line
          word="Declaration"
          at={declaration?.declaredAt}
          rollout={isFleet && declaration?.rollout}
          otherwise="none"
        >
          {declaration && (
            <>
              {byWhom(declaration.declaredBy)}{' '}
              {declaration.reason && <q title={declaration.reason}>{declaration.reason}</q>}
            </>
          )}
        </Line>
        <Line
          word="Release"
          at={release?.at}
          rollout={isFleet && release?.rollout}
          otherwise={
            found?.hasMore ? `none in the last ${plural(found.read, 'revision')}` : describeNone(found, releases.error)
          }
        >
          {release && (
            <>
              {release.application}{' '}
              {[release.fromApplicationVersion, release.applicationVersion].filter(Boolean).join(' → ')}
            </>
          )}
        </Line>
        {hasActions && (
          <Line
            word={act && 'action' in act ? formatStatus(act.action.state) : 'Action'}
            at={act?.at}
            rollout={isFleet && act && 'rollout' in act && act.rollout}
            otherwise={describeNone(acted, actions.error)}
          >
            {act && 'action' in act && act.action.actor && byWhom(act.action.actor)}
          </Line>
        )}
      </ul>
    </section>
  )
}

const describeNone = (data: object | null, error: Error | null): string => (data ? 'none' : error ? 'not known' : '…')

interface LineProps {
  readonly word: string
  readonly at: string | undefined
  readonly rollout: { readonly presentId: string; readonly name: string } | false | null | undefined
  /** Shown without a time. */
  readonly otherwise: string
  readonly children: ComponentChildren
}

const Line = ({ word, at, rollout, otherwise, children }: LineProps) => (
  <li>
    <b>{word}</b>
    {at === undefined ? (
      <span class="muted">{otherwise}</span>
    ) : (
      <time class="muted number" dateTime={at} title={formatFull(at)}>
        {formatAge(at, moment.value)}
      </time>
    )}
    {rollout && (
      <a href={href(['rollout', rollout.presentId])}>
        <Name>{rollout.name}</Name>
      </a>
    )}
    <span class="muted detail">{children}</span>
  </li>
)
