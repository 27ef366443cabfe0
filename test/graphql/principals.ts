/** Callers in tests: `Bearer <roles>[/<scope>…]`. */
import type { ApiAuth } from '../../src/api/auth/api/api-auth.ts'
import { parseScopes } from '../../src/domain/access-scope.ts'
import { DomainError } from '../../src/domain/errors.ts'
import { type Principal, type Role, roles } from '../../src/domain/principal.ts'

/** `viewer`, `viewer+reporter/label:site=munich`, `operator/project:alpha`. */
function identityNamed(name: string): Principal {
  const [held = '', ...scopes] = name.split('/')
  const accessScope = parseScopes(scopes)
  const known = held.split('+').filter((role): role is Role => roles.some((one) => one === role))
  if (typeof accessScope === 'string') throw new Error(accessScope)
  return { name, roles: known, accessScope, credential: { kind: 'key', id: name }, expiresAt: null }
}

/** Without a credential every caller may do everything, so that tests can set up data. */
export const namedAuth: Pick<ApiAuth, 'identify' | 'follow' | 'recheck'> = {
  async identify({ token }) {
    if (token === 'stranger') throw new DomainError('UNAUTHENTICATED', 'stranger')
    return identityNamed(token ?? 'admin')
  },
  follow: () => () => {},
  recheck: async () => {},
}
