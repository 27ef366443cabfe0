/** What people changed last, which is often why something fails now: a declaration, a release, an action of an orchestrator. */
import type { ComponentChildren } from 'preact'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { formatStatus } from '../../data/labels.ts'
import { formatAge, formatFull } from '../../data/time.ts'
import { href, moment } from '../../route.ts'
import { Name } from '../name.tsx'

/**
 * With the variable $asOf. A declaration changes the convergence of its deployments, when it is made and when a device has picked it up,
 * so the newest declaration is among those of the latest such changes.
 */
export const latestFragment = graphql(`
  fragment Latest on Query {
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

type Data = FragmentOf<typeof latestFragment>

/** Nothing if there is no such change. */
export function Latest({ of: { declared, released, acted } }: { readonly of: Data }) {
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
