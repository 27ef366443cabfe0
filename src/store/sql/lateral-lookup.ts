import { ownSite } from '../../domain/target.ts'

/** The rows `d` of deployments whose names (deployment_names, as `n`) match the condition. */
export function namedDeployments(condition: string): string {
  return `(select d.* from (select n.deployment_key from deployment_names n where ${condition} offset 0) n
    cross join lateral (select d.* from deployments d where d.key = n.deployment_key offset 0) d)`
}

/**
 * "cross join lateral (… offset 0)" looks up each name on its own, in an index. A plain join leaves the choice to the planner. Without
 * statistics (PGlite never has any) it assumes few rows, and compares each name with each row. A device of this server: those of sites may have its name.
 */
export function deviceNamed(name: string): string {
  return `cross join lateral (select t.* from targets t
    where t.kind = 'DEVICE' and t.provider = '' and t.name = ${name} and t.site_key = ${ownSite} offset 0) t`
}
