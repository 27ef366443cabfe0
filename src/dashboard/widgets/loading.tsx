/** The title of a page whose state is under way. The present is mostly there at once, so that it is under way is shown after a second. */
import { describeLoading } from '../data/loading.ts'
import { at } from '../route.ts'

export const Loading = ({ title }: { readonly title: string }) => (
  <>
    <h1 aria-busy="true">{title}</h1>
    <LoadingPast />
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
