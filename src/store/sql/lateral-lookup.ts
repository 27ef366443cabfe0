/**
 * "cross join lateral (… offset 0)" looks up each name on its own, in an index. A plain join leaves the choice to the planner. Without
 * statistics (PGlite never has any) it assumes few rows, and compares each name with each row.
 */
export function deviceNamed(name: string): string {
  return `cross join lateral (select t.* from targets t
    where t.kind = 'DEVICE' and t.provider = '' and t.name = ${name} offset 0) t`
}
