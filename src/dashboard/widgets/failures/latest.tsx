/** What people changed last, which is often why something fails now: a declaration, a release, an action of an orchestrator. */
import type { ComponentChildren } from 'preact'
import { graphql } from '../../data/graphql.ts'
import { formatStatus } from '../../data/labels.ts'
import { formatAge, formatFull, now } from '../../data/time.ts'
import { useAnswer } from '../../data/use-query.ts'
import { at, href, moment } from '../../route.ts'
import { Name } from '../name.tsx'

/**
 * A request of its own, at most once a minute: in a large log it may read many entries, or be refused because these changes are rare, and then
 * the rest of the page must still show. A declaration changes the convergence of its deployments, when it is made and when a device has picked it up,
 * so the newest declaration is among those of the latest such changes.
 */
const latestDocument = graphql(`
  query Latest($asOf: DateTime) {
    declared: changes(filter: { kinds: [CONVERGENCE_CHANGED], before: $asOf }, last: 20) {
      nodes { ... on ConvergenceChanged { rollout { id name } deployment { desired { declaredAt declaredBy reason } } } }
    }
    released: changes(filter: { kinds: [DEPLOYMENT_REVISED], before: $asOf }, last: 20) {
      nodes { at ... on DeploymentRevised { application applicationVersion fromApplicationVersion rollout { id name } } }
    }
    acted: changes(filter: { kinds: [LIFECYCLE_ACTION_RECORDED], before: $asOf }, last: 1) {
      nodes { at ... on LifecycleActionRecorded { action { state actor } rollout { id name } } }
    }
  }
`)

/** Milliseconds between two requests. */
const calm = 60_000

/** Nothing if there is no such change, or none that is found soon. */
export function Latest() {
  const { data } = useAnswer(latestDocument, { asOf: at.value }, { version: Math.floor(now.value / calm) })
  if (!data) return null
  const { declared, released, acted } = data
  const declarations = declared.nodes
    .flatMap((change) => {
      const desired = 'deployment' in change ? change.deployment.desired : null
      return 'rollout' in change && desired ? [{ ...desired, rollout: change.rollout }] : []
    })
    .filter(({ declaredAt }) => Date.parse(declaredAt) <= moment.value)
    .toSorted((a, b) => Date.parse(b.declaredAt) - Date.parse(a.declaredAt))
  const [declaration] = declarations
  // A deployment that joins another rollout is revised, too.
  const release = released.nodes.findLast(
    (change) => 'application' in change && change.applicationVersion !== change.fromApplicationVersion,
  )
  const [act] = acted.nodes
  if (!declaration && !release && !act) return null
  return (
    <section class="panel" aria-labelledby="latest">
      <h2 id="latest">What changed last</h2>
      <ul class="latest">
        {declaration && (
          <Line word="Declaration" at={declaration.declaredAt} rollout={declaration.rollout}>
            by {declaration.declaredBy} {declaration.reason && <q>{declaration.reason}</q>}
          </Line>
        )}
        {release && 'application' in release && (
          <Line word="Release" at={release.at} rollout={release.rollout}>
            {release.application}{' '}
            {[release.fromApplicationVersion, release.applicationVersion].filter(Boolean).join(' → ')}
          </Line>
        )}
        {act && 'action' in act && (
          <Line word={formatStatus(act.action.state)} at={act.at} rollout={act.rollout}>
            {act.action.actor && `by ${act.action.actor}`}
          </Line>
        )}
      </ul>
    </section>
  )
}

interface LineProps {
  readonly word: string
  readonly at: string
  readonly rollout: { readonly id: string; readonly name: string }
  readonly children: ComponentChildren
}

const Line = ({ word, at, rollout, children }: LineProps) => (
  <li>
    <b>{word}</b>
    <time class="muted number" dateTime={at} title={formatFull(at)}>
      {formatAge(at, moment.value)}
    </time>
    <a href={href(['rollout', rollout.id])}>
      <Name>{rollout.name}</Name>
    </a>
    <span class="muted">{children}</span>
  </li>
)
