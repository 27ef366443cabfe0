/** Loads what a batch of a site's server refers to: how far this server has its log, and its targets and deployments by its own keys. */
import { ownSite } from '../../../domain/target.ts'
import { namedDeployments } from '../../sql/lateral-lookup.ts'
import type { DeploymentRecord, TargetRecord } from '../../sql/rows.ts'
import { type SiteRecord, toStoredSite } from '../../sql/site-rows.ts'
import type { LoadedSites } from '../contract.ts'
import type { SiteNeed } from '../needs.ts'
import { type Ask, askMeasured } from './measured.ts'

const isSite = `t.kind = 'SITE' and t.provider = '' and t.site_key = ${ownSite}`
const sitesByPath = `select s.* from json_array_elements_text($1::text::json) x
  cross join lateral (select t.key from targets t where ${isSite} and t.name = x offset 0) t
  cross join lateral (select s.* from sites s where s.key = t.key offset 0) s`
/** Paths are few, and no report waits for them. */
function sitesBelow(path: string, join = 'cross join lateral'): string {
  return `${join} (select t.key, t.registered from targets t where ${isSite} and (t.name = ${path} or starts_with(t.name, ${path} || '/')) offset 0)`
}
const asKeys = `json_to_recordset($1::text::json) as x(site bigint, theirs bigint)`
const targetsByTheirs = `select t.*, x.site as of_site, x.theirs from ${asKeys}
  cross join lateral (select m.key from site_targets m where m.site_key = x.site and m.theirs = x.theirs offset 0) m
  cross join lateral (select t.* from targets t where t.key = m.key offset 0) t`
const targetsByName = `select t.* from json_to_recordset($1::text::json) as x(path text, kind target_kind, provider text, name text)
  cross join lateral (select t.key from targets t where ${isSite} and t.name = x.path offset 0) s
  cross join lateral (select t.* from targets t
    where t.kind = x.kind and t.provider = x.provider and t.name = x.name and t.site_key = s.key offset 0) t`
const deploymentsByTheirs = `select d.*, x.site as of_site, x.theirs, m.since from ${asKeys}
  cross join lateral (select m.key, m.since from site_deployments m where m.site_key = x.site and m.theirs = x.theirs offset 0) m
  cross join lateral (select d.* from deployments d where d.key = m.key offset 0) d`
const deploymentsByName = `select d.* from json_to_recordset($1::text::json) as x(path text, "deploymentId" text, reporter text)
  ${sitesBelow('x.path')} s
  cross join lateral (select d.* from ${namedDeployments('n.reporter = x.reporter and n.deployment_id = x."deploymentId" and n.is_remote')} d
    where d.site_key = s.key) d`

/** Of the site and those below it that have no server of their own which sends to this one. */
const missing = `select d.* from json_to_recordset($1::text::json) as x(site bigint, path text, "limit" int, begins boolean)
  cross join lateral (select d.* ${sitesBelow('x.path', 'from')} s
    cross join lateral (select d.* from targets t join deployments d on d.target_key = t.key
      where t.site_key = s.key and d.site_key = s.key and d.forgotten_at is null
      and (x.begins or not exists (select from site_deployments m where m.site_key = x.site and m.key = d.key))) d
    where s.key = x.site or not s.registered
    limit x."limit") d`

type Theirs = { readonly of_site: number; readonly theirs: number }

export interface FoundSites extends LoadedSites {
  readonly targetRows: readonly TargetRecord[]
  readonly deploymentRows: readonly DeploymentRecord[]
}

export async function loadSites(ask: Ask, needs: readonly SiteNeed[]): Promise<FoundSites> {
  const keysOf = (of: 'targets' | 'deployments'): object[] =>
    needs.flatMap(({ site, ...keys }) => keys[of].map((theirs) => ({ site, theirs })))
  const [sites, missed, targetsOfTheirs, namedTargets, deploymentsOfTheirs, namedDeployments] = await Promise.all([
    ask<SiteRecord>(sitesByPath, [...new Set(needs.flatMap(({ paths }) => paths))]),
    ask<DeploymentRecord>(
      missing,
      needs.flatMap(({ site, missing: wanted }) => (wanted ? [{ site, ...wanted }] : [])),
    ),
    askMeasured<TargetRecord & Theirs>(ask, 'targets', [[targetsByTheirs, keysOf('targets')]]),
    ask<TargetRecord>(
      targetsByName,
      needs.flatMap(({ targetNames }) => targetNames),
    ),
    askMeasured<DeploymentRecord & Theirs & { readonly since: number }>(ask, 'deployments', [
      [deploymentsByTheirs, keysOf('deployments')],
    ]),
    ask<DeploymentRecord>(
      deploymentsByName,
      needs.flatMap(({ deploymentNames }) => deploymentNames),
    ),
  ])
  return {
    sites: sites.map(toStoredSite),
    missing: missed.map(({ key }) => key),
    targets: targetsOfTheirs.map(({ of_site: site, theirs, key }) => ({ site, theirs, key })),
    deployments: deploymentsOfTheirs.map(({ of_site: site, theirs, key, since }) => ({ site, theirs, key, since })),
    targetRows: [...targetsOfTheirs, ...namedTargets],
    deploymentRows: [...deploymentsOfTheirs, ...namedDeployments, ...missed],
  }
}
