/** The first place where two JSON values differ, or null. */
export function deepDifference(expected: unknown, found: unknown, path = '$'): string | null {
  if (typeof expected !== 'object' || typeof found !== 'object' || expected === null || found === null)
    return Object.is(expected, found)
      ? null
      : `${path} is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`
  const names = new Set([...Object.keys(expected), ...Object.keys(found)])
  for (const name of names) {
    const difference = deepDifference(
      (expected as Record<string, unknown>)[name],
      (found as Record<string, unknown>)[name],
      `${path}.${name}`,
    )
    if (difference) return difference
  }
  return null
}
