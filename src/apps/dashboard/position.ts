/**
 * A page that is returned to, or loaded again, is as far down as it was left, and the focus is on the link that was followed. The browser's own
 * restoration comes too early: the rows are not loaded yet.
 */

/** Milliseconds: a list gets long page by page. */
const patience = 10_000
/** Milliseconds after that, in which rows are drawn, and parts above may still arrive. */
const drawingTime = 1_000

let returning: AbortController | null = null

export const isReturning = (): boolean => returning !== null

/** Before another entry of the history follows. */
export function keepPosition(): void {
  stop()
  history.replaceState({ ...history.state, top: scrollY }, '')
}

function stop(): void {
  returning?.abort()
  returning = null
}

/** `left`: the address of the page that was left; null: there was none. */
export function returnTo(state: { readonly top?: number } | null, left: string | null): void {
  stop()
  const top = state?.top
  if (top === undefined) return
  const began = performance.now()
  let arrived: number | null = null
  returning = new AbortController()
  const { signal } = returning
  // From then on the reader scrolls.
  for (const input of ['wheel', 'pointerdown', 'keydown']) addEventListener(input, stop, { signal, passive: true })
  const step = (): void => {
    if (signal.aborted) return
    scrollTo(0, top)
    if (scrollY >= top - 1) arrived ??= performance.now()
    if (arrived !== null) focusLink(left)
    const end = arrived === null ? began + patience : arrived + drawingTime
    if (performance.now() > end) stop()
    else requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
}

function focusLink(address: string | null): void {
  if (document.activeElement?.matches('body, main') === false) return
  const link = [...document.links].find(({ href }) => href === address)
  link?.focus({ preventScroll: true })
}

history.scrollRestoration = 'manual'
addEventListener('pagehide', keepPosition)
returnTo(history.state, null)
