/** The title of a page whose state is under way. The present is there at once, so only the past is announced. */
import { describeLoading } from '../data/loading.ts'
import { at } from '../route.ts'

export const Loading = ({ title }: { readonly title: string }) => (
  <>
    <h1 aria-busy="true">{title}</h1>
    <LoadingPast />
  </>
)

export const LoadingPast = () =>
  at.value === null ? null : (
    <p class="muted number" role="status">
      {describeLoading()}
    </p>
  )
