/** The title of a page that has no answer yet, and why. The present is mostly there at once, so that it is under way is shown after a second. */
import type { ApiError } from '../../client/client.ts'
import { describeLoading } from '../data/loading.ts'
import { at } from '../route.ts'
import { ErrorMessage } from './error-message.tsx'

interface LoadingProps {
  readonly title: string
  readonly error?: ApiError | null
  readonly toNow?: (() => void) | undefined
}

export const Loading = ({ title, error = null, toNow }: LoadingProps) => (
  <>
    <h1 aria-busy={error === null}>{title}</h1>
    {error ? <ErrorMessage error={error} toNow={toNow} /> : <LoadingPast />}
  </>
)

export const LoadingPast = () =>
  at.value === null ? (
    <p class="muted late">{describeLoading()}</p>
  ) : (
    <p class="muted number" role="status">
      {describeLoading()}
    </p>
  )
