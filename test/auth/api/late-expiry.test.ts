import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createJwtVerifier } from '../../../src/api/auth/api/jwt.ts'

const secret = 'a-secret-of-thirty-two-characters-or-more'
const verify = createJwtVerifier({
  ...{ jwksUrl: null, secret, issuer: null, audience: null, clockSkew: 30, rolesClaim: 'roles', scopesClaim: 'scopes' },
})

describe('a token that expires later than any date', () => {
  it.each([8.64e12, 1e13, 1e300])('is accepted, and its expiry is a time: %d', async (exp) => {
    const token = new SignJWT({ exp }).setProtectedHeader({ alg: 'HS256' })
    const { expiresAt } = await verify(await token.sign(new TextEncoder().encode(secret)), Date.now())
    expect(new Date(expiresAt ?? 0).toISOString()).toBe('+275760-09-13T00:00:00.000Z')
  })
})
