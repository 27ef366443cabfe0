/**
 * How many rows are looked up at once: "cross join lateral (… offset 0)" looks up each that is named by itself, in an index. Left to
 * itself, a database that has no statistics yet (PGlite never has any) believes there are few, and compares each that is named with
 * each that is there.
 */
export function deviceNamed(name: string): string {
  return `cross join lateral (select t.* from targets t
    where t.kind = 'DEVICE' and t.provider = '' and t.name = ${name} offset 0) t`
}
