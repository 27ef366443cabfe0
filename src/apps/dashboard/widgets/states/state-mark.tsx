/** A state is shown as a shape, a word and a colour, so that a reader can miss any two of them. */
import type { ComponentChildren } from 'preact'
import {
  type Connectivity,
  connectivityWords,
  convergenceWords,
  type DeploymentState,
  stateWords,
} from '../../data/labels.ts'

export type Mark =
  | DeploymentState
  | 'STALLED'
  | 'OFFLINE'
  | 'ONLINE'
  | 'RETRYING'
  | 'UNKNOWN'
  | 'WAITING'
  | 'BROKEN'
  | 'INCONSISTENT'
  | 'CONVERGED'
  | 'APPLYING'
  | 'STALE'
  | 'MAINTENANCE'

const shapes: Readonly<Record<Mark, ComponentChildren>> = {
  PENDING: <circle cx="8" cy="8" r="5.2" class="line" />,
  WAITING: (
    <>
      <circle cx="8" cy="8" r="5.2" class="line" />
      <path d="M8 5.2V8l2 1.4" class="line" />
    </>
  ),
  INSTALLING: (
    <>
      <circle cx="8" cy="8" r="5.2" class="line" />
      <path d="M8 2.8a5.2 5.2 0 0 1 0 10.4z" class="fill" />
    </>
  ),
  INSTALLED: (
    <>
      <circle cx="8" cy="8" r="6.2" class="fill" />
      <path d="M5.2 8.2l2 2 3.7-4" class="cut" />
    </>
  ),
  FAILED: (
    <>
      <path d="M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2z" class="fill" />
      <path d="M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4" class="cut" />
    </>
  ),
  REMOVING: (
    <>
      <circle cx="8" cy="8" r="5.2" class="line" />
      <path d="M5.4 8h5.2" class="line" />
    </>
  ),
  REMOVED: <circle cx="8" cy="8" r="5.2" class="line dashed" />,
  STALLED: (
    <>
      <path d="M4 2.5h8M4 13.5h8M5 2.5v2.2L8 8l-3 3.3v2.2M11 2.5v2.2L8 8l3 3.3v2.2" class="line" />
      <path d="M6.3 12.6L8 10.7l1.7 1.9z" class="fill" />
    </>
  ),
  OFFLINE: (
    <>
      <path d="M3 11.5v1M6.4 9v3.5M9.8 6.5v6M13.2 4v8.5" class="line faint" />
      <path d="M2.5 2.5l11 11" class="line" />
    </>
  ),
  ONLINE: <path d="M3 11.5v1M6.4 9v3.5M9.8 6.5v6M13.2 4v8.5" class="line" />,
  RETRYING: <path d="M12.8 6.5A5.2 5.2 0 1 0 13 9.5M13 3v3.6H9.4" class="line" />,
  UNKNOWN: <path d="M5 8h.01M8 8h.01M11 8h.01" class="line" />,
  // A target: hit, aimed at, missed.
  CONVERGED: (
    <>
      <circle cx="8" cy="8" r="5.8" class="line" />
      <circle cx="8" cy="8" r="2.5" class="fill" />
    </>
  ),
  APPLYING: (
    <>
      <circle cx="8" cy="8" r="5.8" class="line" />
      <path d="M8 4.6v5M5.8 7.6L8 9.8l2.2-2.2" class="line" />
    </>
  ),
  STALE: (
    <>
      <circle cx="9.6" cy="6.4" r="4.6" class="line" />
      <circle cx="3.2" cy="12.8" r="2.3" class="fill" />
    </>
  ),
  BROKEN: (
    <>
      <circle cx="8" cy="8" r="5.2" class="line" />
      <path d="M8 4.8v3.8M8 11h.01" class="line" />
    </>
  ),
  MAINTENANCE: (
    <>
      <circle cx="8" cy="8" r="5.8" class="line" />
      <path d="M6.4 5.8v4.4M9.6 5.8v4.4" class="line" />
    </>
  ),
  INCONSISTENT: <path d="M4 6h8M4 10h8M10.5 3.5l-5 9" class="line" />,
}

const markWords: Readonly<Record<Mark, string>> = {
  ...stateWords,
  ...connectivityWords,
  STALLED: 'Stalled',
  CONVERGED: convergenceWords.CONVERGED,
  APPLYING: convergenceWords.APPLYING,
  STALE: convergenceWords.STALE,
  WAITING: 'Waiting',
  BROKEN: 'Installed, not working',
  INCONSISTENT: 'Components disagree',
  MAINTENANCE: 'In maintenance',
}

interface MarkProps {
  readonly of: Mark
  /** Shows only the shape. Screen readers still read the word. */
  readonly isBare?: boolean
  readonly children?: ComponentChildren
}

export function StateMark({ of, isBare = false, children }: MarkProps) {
  const word = children ?? markWords[of]
  return (
    <span class={`mark ${of.toLowerCase()}`} title={isBare ? markWords[of] : undefined}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {shapes[of]}
      </svg>
      <span class={isBare ? 'unseen' : undefined}>{word}</span>
    </span>
  )
}

/** The state of a deployment or component. PENDING with a reason has a mark of its own. */
export const toMark = (state: DeploymentState, hasError: boolean): Mark =>
  state === 'PENDING' && hasError ? 'WAITING' : state

export function ConnectivityMark({ of }: { readonly of: Connectivity }) {
  return of === 'UNKNOWN' ? <span class="muted">{connectivityWords.UNKNOWN}</span> : <StateMark of={of} />
}
