/** Who asks in tests: `Bearer <roles>[/<scope>…]`, so that a test reads as what it is about. */
import type { ApiAuth } from '../../src/auth/api/api-auth.ts'
import { DomainError } from '../../src/domain/errors.ts'
import { type Identity, type Role, roles } from '../../src/domain/identity.ts'
import { parseScopes } from '../../src/domain/sight.ts'

/** `viewer`, `viewer+reporter/label:site=munich`, `operator/project:alpha`. */
export function identityNamed(name: string): Identity {
  const [held = '', ...scopes] = name.split('/')
  const sight = parseScopes(scopes)
  const known = held.split('+').filter((role): role is Role => roles.some((one) => one === role))
  if (typeof sight === 'string') throw new Error(sight)
  return { name, roles: known, sight, credential: { kind: 'key', id: name }, expiresAt: null }
}

/** Without a credential: everybody may everything, so that a test can set its scene. */
export const namedAuth: Pick<ApiAuth, 'identify' | 'follow' | 'recheck'> = {
  async identify({ token }) {
    if (token === 'nobody') throw new DomainError('UNAUTHENTICATED', 'nobody')
    return identityNamed(token ?? 'admin')
  },
  follow: () => () => {},
  recheck: async () => {},
}
