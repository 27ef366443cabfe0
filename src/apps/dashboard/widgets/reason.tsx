/**
 * Why an object is as it is. The place is as high without a reason, so nothing below moves when one appears or goes. A long message is cut
 * until it is opened.
 */
import type { ComponentChildren } from 'preact'
import { formatNumber } from '../data/labels.ts'

interface ReasonProps {
  readonly code: string | null
  readonly message: string | null
  /** Beside the code. */
  readonly children?: ComponentChildren
  /** It is a reason to wait, not an error. */
  readonly isWaiting?: boolean
}

export function Reason({ code, message, children, isWaiting = false }: ReasonProps) {
  return (
    <div class={`error-box place${isWaiting ? ' reason' : ''}`}>
      <p>
        {code && <code>{code}</code>} {children && <small class="muted">{children}</small>}
      </p>
      <Message>{message ?? ''}</Message>
    </div>
  )
}

/** The place of a reason while there is none. */
export const NoReason = ({ children }: { readonly children: string }) => (
  <p class="error-box place none muted">{children}</p>
)

interface ReasonLineProps {
  readonly of: {
    readonly code: string
    readonly message: string
    readonly source: string | null
    readonly originalLength: number | null
  } | null
}

/** That a text is not whole. Null: it is. */
export const cutFrom = (length: number | null): string | null =>
  length === null ? null : `only the beginning of ${formatNumber(length)} characters was kept`

/** The same in one line, for a list. */
export const ReasonLine = ({ of }: ReasonLineProps) => (
  <div class="reason-line">
    {of && (
      <Message>
        {[of.code, of.message, of.source && `from ${of.source}`, cutFrom(of.originalLength)]
          .filter(Boolean)
          .join(' · ')}
      </Message>
    )}
  </div>
)

const Message = ({ children }: { readonly children: string }) => (
  <details class="message">
    <summary title="Show all, or less">{children}</summary>
  </details>
)
