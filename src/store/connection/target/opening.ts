/** The session of a connection: opened by its first statement, and never again. */
import { lost } from '../failure.ts'
import { type SignedIn, type SignInOptions, signIn } from './sign-in.ts'

interface Opening {
  /** Null: it is not open yet. */
  current(): SignedIn | null
  /** Callers go on in the order in which they came. */
  whenOpen(): Promise<SignedIn>
  /** Ends it, or the attempt to open it, at once. */
  drop(): void
  /** Ends it when its statements are answered, or after `limit` seconds. */
  close(limit: number): Promise<void>
}

interface OpeningOptions extends Omit<SignInOptions, 'signal'> {
  readonly closed: () => void
}

export function createOpening({ closed, ...options }: OpeningOptions): Opening {
  const { target } = options
  const ending = new AbortController()
  let current: SignedIn | null = null
  let opening: Promise<SignedIn> | null = null
  let leave = (): void => {}

  async function open(): Promise<SignedIn> {
    const found = await signIn({ ...options, signal: ending.signal })
    current = found
    found.onClosed(closed)
    leave = target.take(found.address, closed)
    if (!ending.signal.aborted) return found
    drop()
    throw lost()
  }

  function drop(): void {
    leave()
    ending.abort(lost())
    current?.client.end({ timeout: 0 }).catch(() => undefined)
  }

  return {
    current: () => current,
    whenOpen() {
      opening ??= open()
      return opening
    },
    drop,
    async close(limit) {
      leave()
      const session = current ?? (await opening?.catch(() => null))
      await session?.client.end({ timeout: limit })
    },
  }
}
