/** The history of a deployment, and its reports. */
import { useState } from 'preact/hooks'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { formatNumber, plural } from '../../data/labels.ts'
import { formatFull, formatTime } from '../../data/time.ts'
import { ChangeLine, changeFragment, Skew } from '../change-line.tsx'
import { StateMark } from '../states/state-mark.tsx'

export const historyFragment = graphql(`fragment History on ChangeConnection { totalCount nodes { ...Line } }`, [
  changeFragment,
])

export const reportsFragment = graphql(
  `
    fragment Reports on ReportConnection {
      totalCount
      nodes { id verdict staleBy reportedAt receivedAt sequence state dialect revision }
    }
  `,
)

/** Newest first. Each attempt has a heading. */
export function History({ of: { nodes, totalCount } }: { readonly of: FragmentOf<typeof historyFragment> }) {
  const more = useMore()
  // Before a part of the history, any attempt may have begun.
  let attempt = totalCount > nodes.length ? Number.POSITIVE_INFINITY : 1
  const entries = nodes.map((change) => {
    const began = change.__typename === 'DeploymentStateChanged' && change.attempt > attempt ? change.attempt : null
    if (change.__typename === 'DeploymentStateChanged') attempt = change.attempt
    return { change, began }
  })
  return (
    <section class="panel" aria-labelledby="history">
      <h2 id="history">
        History <small class="muted number">{plural(totalCount, 'change')}, newest first</small>
      </h2>
      <ol class="changes own">
        {entries
          .toReversed()
          .slice(0, more.count(24))
          .map(({ change, began }) => (
            <li
              key={change.revision}
              class={began ? 'attempt' : undefined}
              data-attempt={began ? `Attempt ${began} began` : undefined}
            >
              <ChangeLine change={change} isOwn />
            </li>
          ))}
      </ol>
      <more.Button of={nodes.length} at={24} />
      {more.isAll && totalCount > nodes.length && <p class="muted">Older changes are available through the API.</p>}
    </section>
  )
}

const verdictWords = {
  APPLIED: 'Applied',
  UNCHANGED: 'Repeat',
  STALE: 'Stale',
} as const

export function Reports({ of: { nodes, totalCount } }: { readonly of: FragmentOf<typeof reportsFragment> }) {
  const more = useMore()
  return (
    <section class="panel" aria-labelledby="reports">
      <h2 id="reports">
        Reports <small class="muted number">{formatNumber(totalCount)} stored, newest first</small>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <div class="scroll" tabIndex={0} role="region" aria-label="Reports">
        <table class="reports">
          <thead>
            <tr>
              <th scope="col">Received</th>
              <th scope="col">Reporter's clock</th>
              <th scope="col">State</th>
              <th scope="col">Verdict</th>
              <th scope="col">Sequence</th>
              <th scope="col">Dialect</th>
            </tr>
          </thead>
          <tbody>
            {nodes
              .toReversed()
              .slice(0, more.count(12))
              .map((report) => (
                <tr key={report.id} class={report.verdict === 'STALE' ? 'stale' : undefined}>
                  <td class="number" data-title="Received">
                    <time dateTime={report.receivedAt} title={formatFull(report.receivedAt)}>
                      {formatTime(report.receivedAt)}
                    </time>
                  </td>
                  <td class="number" data-title="Reporter's clock">
                    {report.reportedAt ? (
                      <>
                        {formatTime(report.reportedAt)} <Skew at={report.receivedAt} observedAt={report.reportedAt} />
                      </>
                    ) : (
                      <span class="muted">–</span>
                    )}
                  </td>
                  <td>
                    <StateMark of={report.state} />
                  </td>
                  <td data-title="Verdict">
                    {verdictWords[report.verdict]}
                    {report.staleBy && <small class="muted"> older by {report.staleBy}</small>}
                  </td>
                  <td class="number" data-title="Sequence">
                    {report.sequence ?? <span class="muted">–</span>}
                  </td>
                  <td class="muted" data-title="Dialect">
                    {report.dialect}
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
      <more.Button of={nodes.length} at={12} />
      {more.isAll && totalCount > nodes.length && <p class="muted">Older reports are available through the API.</p>}
    </section>
  )
}

/** Shows the newest entries first, and all of them on request. */
function useMore() {
  const [isAll, setIsAll] = useState(false)
  const Button = ({ of, at }: { readonly of: number; readonly at: number }) =>
    of > at && !isAll ? (
      <button type="button" class="quiet" onClick={() => setIsAll(true)}>
        Show {formatNumber(of - at)} more
      </button>
    ) : null
  return { isAll, count: (most: number): number => (isAll ? Number.POSITIVE_INFINITY : most), Button }
}
