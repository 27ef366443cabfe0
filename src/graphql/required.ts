/** What the database's own references promise to be there. */
export function required<T>(found: T | null | undefined, what: string): T {
  if (found === null || found === undefined) throw new Error(`the ${what} that another row names is not there`)
  return found
}
