/** Clusters × applications: whether each is applied and works. */
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { formatNumber, plural, type SyncStatus } from '../../data/labels.ts'
import { useLiveAnswer } from '../../data/use-query.ts'
import { at, href } from '../../route.ts'
import { TargetLink } from '../links.tsx'
import { ReadinessBar, ReadinessMark, SyncMark } from '../states/readiness.tsx'
import { StateMark, toMark } from '../states/state-mark.tsx'

const cellFragment = graphql(`
  fragment Cell on Component {
    id name state readiness error { code }
    resourceCounts { total readiness { ready pending failed unknown } sync { pending failed retrying deleted } }
  }
`)

const matrixDocument = graphql(
  `
    query Matrix($rolloutIds: [ID!], $instanceIds: [String!], $asOf: DateTime) {
      revision
      deployments(filter: { rolloutIds: $rolloutIds, instanceIds: $instanceIds }, orderBy: NAME, first: 60, asOf: $asOf) {
        totalCount
        nodes { id target { id name connectivity ... on Device { deviceId } } components { ...Cell } }
      }
    }
  `,
  [cellFragment],
)

interface MatrixProps {
  readonly id: string
  /** Null: all runs of a resource bundle. */
  readonly run: string | null
}

export function Matrix({ id, run }: MatrixProps) {
  const asOf = at.value
  const { data, answered } = useLiveAnswer(
    matrixDocument,
    { rolloutIds: [id], instanceIds: run === null ? null : [run], asOf },
    asOf === null ? { rolloutIds: [id] } : null,
  )
  // The cells lead to the run that they are about.
  const [shown = null] = answered?.instanceIds ?? []
  const { nodes, totalCount } = data?.deployments ?? { nodes: [], totalCount: 0 }
  const apps = [...new Set(nodes.flatMap(({ components }) => components.map(({ name }) => name)))].sort()
  if (apps.length === 0) return null
  return (
    <section class="panel" aria-labelledby="matrix">
      <h2 id="matrix">
        Clusters and applications{' '}
        <small class="muted number">
          {formatNumber(totalCount)} × {formatNumber(apps.length)}
        </small>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <div class="scroll" tabIndex={0} role="region" aria-label="Clusters and applications">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Cluster</th>
              {apps.map((app) => (
                <th scope="col" key={app}>
                  {app}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {nodes.map(({ id: key, target, components }) => (
              <tr key={key}>
                <th scope="row">
                  <TargetLink target={target} />
                  {target.connectivity !== 'UNKNOWN' && target.connectivity !== 'ONLINE' && (
                    <StateMark of={target.connectivity} isBare />
                  )}
                </th>
                {apps.map((app) => {
                  const component = components.find(({ name }) => name === app)
                  return (
                    <td key={app}>
                      {component && (
                        <App
                          component={component}
                          address={href(['rollout', id], { run: shown, app, cluster: target.name })}
                          label={`${app} on ${target.name}`}
                        />
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {totalCount > nodes.length && (
        <p class="muted">{plural(totalCount - nodes.length, 'more cluster')} in the lists below.</p>
      )}
    </section>
  )
}

interface AppProps {
  readonly component: FragmentOf<typeof cellFragment>
  readonly address: string
  readonly label: string
}

const syncShown = ['FAILED', 'RETRYING', 'PENDING', 'DELETED'] as const satisfies readonly SyncStatus[]

function App({ component, address, label }: AppProps) {
  const { total, readiness, sync } = component.resourceCounts
  const shown = total - readiness.unknown
  return (
    <a href={address} class="app">
      <span class="unseen">{label}:</span>
      <span class="marks">
        <StateMark of={toMark(component.state, component.error !== null)} />
        {component.readiness !== 'UNKNOWN' && <ReadinessMark of={component.readiness} />}
        {syncShown
          .filter((status) => sync[status.toLowerCase() as Lowercase<typeof status>] > 0)
          .map((status) => (
            <SyncMark key={status} of={status} />
          ))}
      </span>
      <ReadinessBar counts={readiness} label="Resources" />
      <span class="number muted">
        {shown > 0
          ? `${formatNumber(readiness.ready)} of ${formatNumber(shown)} ready${
              readiness.unknown > 0 ? `, ${formatNumber(readiness.unknown)} not observed` : ''
            }`
          : `${plural(total, 'resource')}, none observed`}
      </span>
    </a>
  )
}
