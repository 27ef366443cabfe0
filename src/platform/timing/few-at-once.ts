/** Does something with each element, with at most so many at once. A failure of one stops no other, and is not returned. */
export async function fewAtOnce<T>(
  elements: readonly T[],
  most: number,
  act: (element: T) => Promise<unknown>,
): Promise<void> {
  const left = elements.values()
  const lane = async (): Promise<void> => {
    for (const element of left) await act(element).catch(() => undefined)
  }
  await Promise.all(Array.from({ length: Math.min(most, elements.length) }, lane))
}
