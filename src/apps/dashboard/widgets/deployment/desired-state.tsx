/** A deployment's target beside what it runs, and the difference between two versions of its document. */
import { useState } from 'preact/hooks'
import { diffLines, foldLines, type Hunk, type Line } from '../../data/diff.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { byWhom, plural } from '../../data/labels.ts'
import { formatAge, formatFull, formatTime } from '../../data/time.ts'
import { useAnswer } from '../../data/use-query.ts'
import { moment } from '../../route.ts'
import { ErrorMessage } from '../error-message.tsx'
import { useFilters } from '../lists/filters.tsx'
import { ConvergenceMark, describeConvergence } from '../states/convergence.tsx'
import { StateMark, toMark } from '../states/state-mark.tsx'

export const desiredFragment = graphql(`
  fragment Desired on Deployment {
    id deploymentId reporter state convergence adoptedManifestVersion targetManifestVersion
    error { code }
    desired { digest }
    documentHistory(first: 100) {
      nodes { digest sizeBytes fromManifestVersion untilManifestVersion declaredAt declaredBy reason }
    }
  }
`)

/** A separate query: callers without access to documents can still read everything else. */
const contentsDocument = graphql(`
  query DesiredContents($id: ID!, $before: String!, $after: String!) {
    node(id: $id) {
      ... on Deployment {
        before: desiredDocument(digest: $before) { content }
        after: desiredDocument(digest: $after) { content }
      }
    }
  }
`)

type Desired = FragmentOf<typeof desiredFragment>
type Document = Desired['documentHistory']['nodes'][number]

/** What should run, from a version of the device's manifest on. */
interface Version {
  readonly version: string
  /** Null: it was withdrawn. */
  readonly document: Document | null
}

/** Newest first, up to the target version, because a past state has no later ones. A document without a successor ended by a withdrawal. */
function versionsOf(history: readonly Document[], target: string | null): Version[] {
  const versions = history.flatMap((document, index): Version[] => {
    const { fromManifestVersion: version, untilManifestVersion: until } = document
    const isFollowed = until === null || history[index - 1]?.fromManifestVersion === until
    return [...(isFollowed ? [] : [{ version: until, document: null }]), { version, document }]
  })
  return versions.filter(({ version }) => target === null || BigInt(version) <= BigInt(target))
}

export function DesiredState({ deployment }: { readonly deployment: Desired }) {
  const { convergence, adoptedManifestVersion: adopted, targetManifestVersion: target, error, state } = deployment
  const versions = versionsOf(deployment.documentHistory.nodes, target)
  const [newest] = versions
  if (target === null || !newest) return null
  const { document } = newest
  return (
    <section class="panel" aria-labelledby="desired">
      <h2 id="desired">Desired state</h2>
      <div class="beside">
        <div>
          <h3>Target</h3>
          <p class="of-version">
            version <b class="number">{target}</b>
          </p>
          {document ? (
            <DocumentFacts document={document} />
          ) : (
            <p class="muted">Withdrawn. The device should remove it.</p>
          )}
        </div>
        <div>
          <h3>Reported</h3>
          <p class="of-version">
            {adopted === null ? (
              <span class="muted">no version reported</span>
            ) : (
              <>
                version <b class="number">{adopted}</b>
              </>
            )}
            <StateMark of={toMark(state, error !== null)} />
          </p>
        </div>
        <div>
          <h3>Convergence</h3>
          <p class="of-version">
            <ConvergenceMark of={convergence} />
          </p>
          <p class="muted">{describeConvergence(convergence, target, adopted, document === null)}</p>
        </div>
      </div>
      <Comparison deployment={deployment} versions={versions} />
    </section>
  )
}

function DocumentFacts({ document }: { readonly document: Document }) {
  return (
    <>
      <p class="muted">
        Declared {byWhom(document.declaredBy)}
        {document.reason && <q>{document.reason}</q>} {/* Last, because its length changes while time passes. */}
        <time dateTime={document.declaredAt} title={formatFull(document.declaredAt)}>
          {formatAge(document.declaredAt, moment.value)}
        </time>
      </p>
      <p class="muted">
        <code title={document.digest}>{shorten(document.digest)}</code> · {plural(document.sizeBytes, 'byte')}
      </p>
    </>
  )
}

/** `sha256:0123456789ab…` */
const shorten = (digest: string): string => `${digest.slice(0, 'sha256:'.length + 12)}…`

const nothing = 'nothing'

interface ComparisonProps {
  readonly deployment: Desired
  readonly versions: readonly Version[]
}

/** The address holds the two versions. By default they are the running and the target version; if these are equal, the last change. */
function Comparison({ deployment, versions }: ComparisonProps) {
  const { one, set } = useFilters()
  const known = (version: string | null): string | undefined =>
    version === nothing ? nothing : versions.find((each) => each.version === version)?.version
  const adopted = deployment.adoptedManifestVersion
  const [newest, second] = versions
  const isOn = versions.find(({ version }) => adopted !== null && BigInt(version) <= BigInt(adopted))
  const after = known(one('to')) ?? newest?.version ?? nothing
  const before = known(one('from')) ?? (deployment.convergence === 'STALE' ? isOn : second)?.version ?? nothing
  const digestOf = (version: string): string =>
    versions.find((each) => each.version === version)?.document?.digest ?? ''
  const choose = (name: string, label: string, value: string) => (
    <label>
      <span class="muted">{label}</span>
      <select
        aria-label={name === 'to' ? 'To version' : 'From version'}
        value={value}
        onChange={(event) => set({ [name]: event.currentTarget.value })}
      >
        {versions.map(({ version, document }) => (
          <option key={version} value={version}>
            {document ? `version ${version}, ${formatTime(document.declaredAt)}` : `version ${version}, withdrawn`}
          </option>
        ))}
        <option value={nothing}>nothing (before the first version)</option>
      </select>
    </label>
  )
  return (
    <>
      <div class="compared">
        {choose('from', 'From', before)}
        {choose('to', 'to', after)}
      </div>
      <Difference deployment={deployment} before={digestOf(before)} after={digestOf(after)} />
    </>
  )
}

interface DifferenceProps {
  readonly deployment: Pick<Desired, 'id' | 'deploymentId' | 'reporter'>
  /** Digests. Empty: no document. */
  readonly before: string
  readonly after: string
}

function Difference({ deployment: { id, deploymentId, reporter }, before, after }: DifferenceProps) {
  // At each time of the past, the deployment has another ID.
  const about = JSON.stringify([deploymentId, reporter, before, after])
  const { data, isCurrent, error } = useAnswer(contentsDocument, { id, before, after }, { about })
  if (error?.code === 'FORBIDDEN')
    return <p class="empty">Only operators can read documents. Sign in with a key that has the role operator.</p>
  if (error) return <ErrorMessage error={error} />
  if (!data) return <p class="empty">Loading…</p>
  const of = data.node && 'before' in data.node ? data.node : null
  const lines = diffLines(of?.before?.content ?? '', of?.after?.content ?? '')
  const added = lines.filter(({ kind }) => kind === 'added').length
  const removed = lines.filter(({ kind }) => kind === 'removed').length
  if (lines.length === 0) return <p class="empty">{isCurrent ? 'Neither version has a document.' : 'Loading…'}</p>
  // The lines of the last two versions keep the place until those of these arrive.
  return (
    <div aria-busy={!isCurrent} class={isCurrent ? undefined : 'outdated'}>
      <p class="muted number" role="status">
        {!isCurrent
          ? 'Loading…'
          : added + removed === 0
            ? 'No differences.'
            : `${plural(added, 'line')} added, ${plural(removed, 'line')} removed`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <div class="scroll" tabIndex={0} role="region" aria-label="Differences">
        <table class="diff">
          {foldLines(lines).map((hunk) => (
            <HunkRows key={`${before} ${after} ${hunk.lines[0]?.before}:${hunk.lines[0]?.after}`} hunk={hunk} />
          ))}
        </table>
      </div>
    </div>
  )
}

function HunkRows({ hunk }: { readonly hunk: Hunk }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <tbody>
      {hunk.isFolded && !isOpen ? (
        <tr class="folded">
          <td colSpan={4}>
            <button type="button" class="quiet" onClick={() => setIsOpen(true)}>
              {plural(hunk.lines.length, 'unchanged line')}
            </button>
          </td>
        </tr>
      ) : (
        hunk.lines.map((line) => <LineRow key={`${line.before}:${line.after}`} line={line} />)
      )}
    </tbody>
  )
}

const signs = { same: '', added: '+', removed: '−' } as const

function LineRow({ line: { kind, text, before, after } }: { readonly line: Line }) {
  return (
    <tr class={kind}>
      <td class="number">{before}</td>
      <td class="number">{after}</td>
      <td class="sign">
        <span aria-hidden="true">{signs[kind]}</span>
        {kind !== 'same' && <span class="unseen">{kind}</span>}
      </td>
      <td>
        <code>{text}</code>
      </td>
    </tr>
  )
}
