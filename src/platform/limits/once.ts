/** Runs `act` at the first call, and does nothing at later ones: for what callers release. */
export function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
