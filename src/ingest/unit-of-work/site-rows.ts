/** What the servers of sites have sent, in a unit of work: how far this server has their logs, and what their keys are here. */
import type { StoredSite } from '../../domain/sites/stored-site.ts'
import type { LoadedSites, SiteEffects } from '../../store/write/contract.ts'

export interface SiteRows {
  of(site: number): StoredSite | null
  put(site: StoredSite): void
  /** The key here of a target that the server of the site calls `theirs`. */
  target(site: number, theirs: number): number | null
  deployment(site: number, theirs: number): { readonly key: number; readonly since: number } | null
  putTarget(site: number, theirs: number, key: number): void
  /** `since`: the revision of the site as of which a snapshot had it. 0: no snapshot had it. */
  putDeployment(site: number, theirs: number, key: number, since: number): void
  /** Deployments that the server of the site has not mentioned, also in this batch. */
  missing(): readonly number[]
  /** A snapshot begins: its keys are others. */
  begin(site: number): void
  effects(): SiteEffects
}

export const noSites: LoadedSites = { sites: [], targets: [], deployments: [], missing: [] }

export function createSiteRows(loaded: LoadedSites): SiteRows {
  const sites = new Map(loaded.sites.map((site) => [site.key, site]))
  const targets = new Map(loaded.targets.map((one) => [nameOf(one.site, one.theirs), one]))
  const deployments = new Map(loaded.deployments.map((one) => [nameOf(one.site, one.theirs), one]))
  const touched = new Set<number>()
  const begun = new Set<number>()
  const newTargets = new Map<string, SiteEffects['targets'][number]>()
  const newDeployments = new Map<string, SiteEffects['deployments'][number]>()

  return {
    of: (site) => sites.get(site) ?? null,
    put(site) {
      sites.set(site.key, site)
      touched.add(site.key)
    },
    target: (site, theirs) => targets.get(nameOf(site, theirs))?.key ?? null,
    deployment: (site, theirs) => deployments.get(nameOf(site, theirs)) ?? null,
    putTarget(site, theirs, key) {
      const row = { site, theirs, key }
      targets.set(nameOf(site, theirs), row)
      newTargets.set(nameOf(site, theirs), row)
    },
    putDeployment(site, theirs, key, since) {
      const row = { site, theirs, key, since }
      deployments.set(nameOf(site, theirs), row)
      newDeployments.set(nameOf(site, theirs), row)
    },
    missing() {
      const mentioned = new Set([...newDeployments.values()].map(({ key }) => key))
      return loaded.missing.filter((key) => !mentioned.has(key))
    },
    begin(site) {
      begun.add(site)
      for (const rows of [targets, deployments, newTargets, newDeployments])
        for (const [name, row] of rows) if (row.site === site) rows.delete(name)
    },
    effects: () => ({
      sites: [...touched].flatMap((key) => sites.get(key) ?? []),
      begun: [...begun],
      targets: [...newTargets.values()],
      deployments: [...newDeployments.values()],
    }),
  }
}

function nameOf(site: number, theirs: number): string {
  return `${site} ${theirs}`
}
