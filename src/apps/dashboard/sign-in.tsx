/** The sign-in form, shown when API_AUTH requires a credential. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { findSession, signIn, signInAddress, signInOffer } from './data/api.ts'

export function SignIn() {
  useEffect(() => {
    if (signInOffer.value === undefined) void findSession()
  }, [])
  const offer = signInOffer.value
  return (
    <main class="sign-in">
      <h1>Rollcall</h1>
      {offer && (
        <p>
          <a class="primary" href={signInAddress()}>
            Sign in with {offer.name}
          </a>
        </p>
      )}
      {(!offer || offer.takesKeys) && <KeyForm />}
    </main>
  )
}

function KeyForm() {
  const problem = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    if (isBusy.value) return
    const credential = String(new FormData(event.currentTarget as HTMLFormElement).get('credential') ?? '').trim()
    isBusy.value = true
    signIn(credential).catch((error: Error) => {
      problem.value = error.message
      isBusy.value = false
    })
  }
  return (
    <form onSubmit={submit}>
      <label for="credential">API key or token</label>
      <input
        id="credential"
        name="credential"
        type="password"
        autocomplete="current-password"
        required
        aria-describedby="sign-in-problem"
        aria-invalid={problem.value !== null}
      />
      <p id="sign-in-problem" class="trouble-text" role="alert">
        {problem.value}
      </p>
      <button type="submit" class="primary" aria-disabled={isBusy.value}>
        Sign in
      </button>
      <p class="muted">
        The operator of this server issues keys. The page keeps the key in a cookie that scripts can't read.
      </p>
    </form>
  )
}
