/** For rows that foreign keys guarantee to exist. */
export function required<T>(found: T | null | undefined, what: string): T {
  if (found === null || found === undefined) throw new Error(`the ${what} that another row refers to is missing`)
  return found
}
