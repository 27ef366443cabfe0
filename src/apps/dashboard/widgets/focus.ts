/**
 * Some controls disappear when they are used, such as "Back to now" and "Clear". The browser then leaves the focus on nothing, and a screen reader
 * says nothing. Instead the part of the page that had the control gets the focus, and Tab goes on from there. To focus a chosen control after each
 * such action was rejected: whether a control goes, and when, often depends on the server's answer.
 */

let focused: HTMLElement | null = null

addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement) focused = target
})
addEventListener('focusout', ({ target }) => {
  // What is removed is known to the observer before that.
  setTimeout(() => {
    if (focused === target && document.activeElement !== target) focused = null
  })
})

new MutationObserver((records) => {
  const lost = focused
  if (!lost || document.activeElement !== document.body) return
  const record = records.find(({ removedNodes }) => [...removedNodes].some((node) => node.contains(lost)))
  if (!record) return
  // A row that has moved in its list is still there, without the focus.
  const heir = lost.isConnected ? lost : partAround(record.target)
  if (heir !== lost) heir?.setAttribute('tabindex', '-1')
  heir?.focus({ preventScroll: true })
}).observe(document, { childList: true, subtree: true })

function partAround(place: Node): HTMLElement | null {
  const part = place instanceof Element ? place.closest<HTMLElement>('dialog, main section') : null
  return part?.isConnected ? part : document.querySelector('main')
}
