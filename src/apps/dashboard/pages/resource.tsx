/** One Kubernetes object: whether it is applied, whether it works and why not, and what the cluster reported about it. */
import { useEffect, useState } from 'preact/hooks'
import { graphql, type ResultOf } from '../data/graphql.ts'
import { resourceFragment } from '../data/resource-rows.ts'
import { formatAge, formatFull, formatTime, justAfter } from '../data/time.ts'
import { type ChangeFilter, useLiveAnswer } from '../data/use-query.ts'
import { orOutside } from '../data/viewer.ts'
import { at, href, moment } from '../route.ts'
import { ChangeLine, changeFragment } from '../widgets/change-line.tsx'
import { nameOf } from '../widgets/deployment/head.tsx'
import { deploymentHref, TargetLink } from '../widgets/links.tsx'
import { Loading } from '../widgets/loading.tsx'
import { NoReason, Reason } from '../widgets/reason.tsx'
import { ReadinessMark, SyncMark } from '../widgets/states/readiness.tsx'
import { useTitle } from '../widgets/tab.ts'

const resourceDocument = graphql(
  `
    query Resource($id: ID!, $of: ResourceFilter, $asOf: DateTime, $isPresent: Boolean!, $isNamed: Boolean!, $filter: ChangeFilter) {
      revision
      node(id: $id) @include(if: $isNamed) { ... on Resource { instance { instanceId } } }
      resources(filter: $of, asOf: $asOf, first: 1) {
        nodes {
          ...ResourceRow
          detail @include(if: $isPresent)
          detailTruncated @include(if: $isPresent)
          appliedDetail @include(if: $isPresent)
          deployment { deploymentId reporter application applicationVersion rollout { presentId name } }
        }
      }
      changes(filter: $filter, last: 100) { nodes { ...Line } }
    }
  `,
  [resourceFragment, changeFragment],
)

type Data = ResultOf<typeof resourceDocument>
type Found = Data['resources']['nodes'][number]

const everyResource: ChangeFilter = { kinds: ['RESOURCE_STATUS_CHANGED'] }

/** The ID may be that of the object at another time: a list finds it at each. */
export function ResourcePage({ steps: [id = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const isPresent = asOf === null
  // The first answer names the run. From then on only that run is read and followed: without it, a list has the current runs.
  const [run, setRun] = useState<string | null>(null)
  const ofRun = run === null ? {} : { instanceIds: [run] }
  // The list has the object also if the revision in its ID has expired. Null: that is not known of this time.
  const [expiredFor, setExpiredFor] = useState<string | null>(null)
  const time = asOf ?? 'now'
  const isNamed = expiredFor !== time
  const followed: ChangeFilter = { ...everyResource, ...ofRun }
  const { data, isCurrent, error } = useLiveAnswer(
    resourceDocument,
    {
      id,
      of: { ids: [id], ...ofRun },
      asOf,
      isPresent,
      isNamed,
      filter: isPresent ? followed : { ...followed, before: justAfter(asOf) },
    },
    isPresent ? followed : null,
  )
  const named = data?.node && 'instance' in data.node ? (data.node.instance?.instanceId ?? null) : null
  useEffect(() => {
    if (named !== null) setRun(named)
  }, [named])
  useEffect(() => {
    if (error?.code === 'HISTORY_EXPIRED') setExpiredFor(time)
  }, [error])
  const resource = data?.resources.nodes[0] ?? null
  useTitle(resource ? `${resource.name} · ${resource.kind}` : null)
  if (!data || !(resource || (isCurrent && (named === run || !isNamed))))
    return <Loading title="Resource" error={error} />
  if (!resource)
    return (
      <>
        <h1>Resource not found</h1>
        <p>
          This resource does not exist{at.value && ' at this time'}
          {orOutside.value}. <a href={href(['resources'])}>All resources</a>
        </p>
      </>
    )
  const changes = data.changes.nodes.filter((change) => 'resource' in change && isSame(change.resource, resource))
  return (
    <>
      <Crumbs of={resource.deployment} />
      <Head resource={resource} />
      {changes.length > 0 && (
        <section class="panel" aria-labelledby="changes">
          <h2 id="changes">Recent changes</h2>
          <ol class="changes own">
            {changes.toReversed().map((change) => (
              <li key={change.revision}>
                <ChangeLine change={change} isOwn />
              </li>
            ))}
          </ol>
        </section>
      )}
      <Detail title="Observed in the cluster" of={resource.detail} isCut={resource.detailTruncated ?? false} />
      <Detail title="Applied by the orchestrator" of={resource.appliedDetail} isCut={false} />
    </>
  )
}

function Crumbs({ of }: { readonly of: Found['deployment'] }) {
  return (
    <p class="crumbs">
      <a href={href(['rollout', of.rollout.presentId])}>{of.rollout.name}</a>
      {' / '}
      <a href={deploymentHref(of)}>{nameOf(of)}</a>
    </p>
  )
}

/** A past object has an ID of its own. */
const isSame = (one: Named, other: Named): boolean =>
  one.kind === other.kind && one.name === other.name && one.target.name === other.target.name

type Named = Pick<Found, 'kind' | 'name'> & { readonly target: { readonly name: string } }

function Head({ resource }: { readonly resource: Found }) {
  const { kind, name, namespace, group, version, sync, readiness, reason, message, component, target } = resource
  return (
    <section class="hero" aria-labelledby="resource">
      <h1 id="resource" class="named">
        {name}
        <small class="muted">
          {kind} of {component} on <TargetLink target={target} />
        </small>
      </h1>
      <p class="headline marks large" role="status">
        <ReadinessMark of={readiness} />
        {sync && <SyncMark of={sync} />}
      </p>
      {reason && readiness !== 'READY' ? (
        <Reason code={reason} message={message} isWaiting={readiness !== 'FAILED'} />
      ) : (
        <NoReason>No problem reported.</NoReason>
      )}
      <dl class="facts-row">
        <div>
          <dt>API</dt>
          <dd>{[group, version].filter(Boolean).join('/')}</dd>
        </div>
        {namespace && (
          <div>
            <dt>Namespace</dt>
            <dd>{namespace}</dd>
          </div>
        )}
        {resource.instance && (
          <div>
            <dt>Run</dt>
            <dd>{resource.instance.instanceId}</dd>
          </div>
        )}
        <div>
          <dt>In the cluster</dt>
          <dd>{{ PRESENT: 'yes', NOT_PRESENT: 'no', UNKNOWN: 'not observed' }[resource.presence]}</dd>
        </div>
        <div>
          <dt>Last changed</dt>
          <dd class="number" title={formatFull(resource.changedAt)}>
            {formatTime(resource.changedAt)} <span class="muted">{formatAge(resource.changedAt, moment.value)}</span>
          </dd>
        </div>
      </dl>
    </section>
  )
}

interface DetailProps {
  readonly title: string
  readonly of: unknown
  readonly isCut: boolean
}

function Detail({ title, of, isCut }: DetailProps) {
  if (of === null || of === undefined) return null
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <pre tabIndex={0}>{JSON.stringify(of, null, 2)}</pre>
      {isCut && <p class="muted">Too large to show in full. Some parts are left out.</p>}
    </section>
  )
}
