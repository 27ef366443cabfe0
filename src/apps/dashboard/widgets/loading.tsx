/** The title of a page that has no answer yet, and why. The present mostly arrives at once, so "Loading" is shown only after a second. */
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
