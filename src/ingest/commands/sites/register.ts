/** Operators register the servers of sites. Of that, the feed shows nothing: a site is there from its registration. */
import { DomainError } from '../../../domain/errors.ts'
import { inService, type Label, type TargetName } from '../../../domain/target.ts'
import { expireTokens, issueToken, withdrawTokens } from '../../../store/write/tokens.ts'
import type { Command } from '../../command.ts'

export interface SiteRegistration {
  readonly path: string
  /** Null: stays as it is. */
  readonly name: string | null
  readonly labels: readonly Label[] | null
  /** The hash of the token that its server gets. */
  readonly tokenHash: string
  /** Seconds for which the tokens that it has stay valid. */
  readonly overlap: number
}

/** Seconds of silence after which a site counts as OFFLINE: its server sends at least an empty batch a minute. */
const longestSilence = 180

export function registerSite({
  path,
  name,
  labels,
  tokenHash,
  overlap,
}: SiteRegistration): Command<{ key: number; wasEnded: boolean }> {
  return {
    needs: { targets: [siteNamed(path)] },
    decide(work) {
      const site = work.ensureTarget('SITE', '', path)
      const given = { displayName: name ?? site.displayName, labels: labels ?? site.labels }
      const registered = { registered: true, revokedAt: null, expectedInterval: longestSilence, ...inService }
      work.putTarget({ ...site, ...given, ...registered }, 'changed')
      return { key: site.key, wasEnded: site.revokedAt !== null }
    },
    statements: ({ key, wasEnded }) => [
      wasEnded ? withdrawTokens(key) : expireTokens(key, overlap),
      issueToken(tokenHash, key),
    ],
  }
}

/** Its server is refused from the next batch on. What it has sent stays. */
export function revokeSite(path: string): Command<{ key: number }> {
  return {
    needs: { targets: [siteNamed(path)] },
    decide(work) {
      const site = work.target('SITE', '', path)
      if (!site) {
        const message = `there is no site ${path}`
        throw new DomainError('NOT_FOUND', message, { problems: [{ field: 'path', message }] })
      }
      if (site.revokedAt === null) work.putTarget({ ...site, revokedAt: work.moment().at }, 'changed')
      return { key: site.key }
    },
  }
}

function siteNamed(path: string): TargetName {
  return { kind: 'SITE', provider: '', name: path }
}
