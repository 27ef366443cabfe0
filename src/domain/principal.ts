/** The caller and its permissions. A role says what a caller may do; an access scope says in which part of the fleet. */
import { type AccessScope, accessScopeKey } from './access-scope.ts'
import type { Millis } from './values.ts'

export const roles = ['viewer', 'reporter', 'operator', 'admin'] as const
export type Role = (typeof roles)[number]

/** What a field, a mutation or a route requires. "of all" also requires that no access scope restricts the caller. */
export type Access = 'anyone' | Role | `${Role} of all`

/** An operator may also report. A reporter may not read. */
const includes: Readonly<Record<Role, readonly Role[]>> = {
  viewer: ['viewer'],
  reporter: ['reporter'],
  operator: ['operator', 'viewer', 'reporter'],
  admin: roles,
}

/** The credential that the caller presented. */
type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'adminKey' }
  | { readonly kind: 'key'; readonly id: string }
  | { readonly kind: 'jwt'; readonly text: string }
  | { readonly kind: 'session'; readonly hash: string; readonly of: 'adminKey' | 'key' | 'jwt' | 'oidc' }

export interface Principal {
  /** For the audit log: the key's name, the token's subject. */
  readonly name: string
  readonly roles: readonly Role[]
  /** Null: the whole fleet. */
  readonly accessScope: AccessScope | null
  readonly credential: Credential
  /** Null: until it is revoked. */
  readonly expiresAt: Millis | null
}

/** The principal of every caller where API_AUTH is `open`. */
export const everyone: Principal = {
  name: 'everyone',
  roles: ['admin'],
  accessScope: null,
  credential: { kind: 'none' },
  expiresAt: null,
}

export function may({ roles: held, accessScope }: Pick<Principal, 'roles' | 'accessScope'>, access: Access): boolean {
  if (access === 'anyone') return true
  const [role, isOfAll] = parts(access)
  if (isOfAll && accessScope !== null) return false
  return held.some((one) => includes[one].includes(role))
}

/** The text for the error message of a caller that lacks the access. */
export function describeAccess(access: Access): string {
  if (access === 'anyone') return 'a credential'
  const [role, isOfAll] = parts(access)
  return `the role ${role}${isOfAll ? ' without a narrower scope' : ''}`
}

/** Callers with equal keys may receive the same response. */
export function rightsKey(principal: Principal): string {
  let key = rightsKeys.get(principal)
  if (key === undefined) {
    key = JSON.stringify([[...principal.roles].sort(), accessScopeKey(principal.accessScope)])
    rightsKeys.set(principal, key)
  }
  return key
}

const rightsKeys = new WeakMap<Principal, string>()

function parts(access: Exclude<Access, 'anyone'>): readonly [Role, boolean] {
  const [role, isOfAll] = access.split(' ', 2)
  return [role as Role, isOfAll !== undefined]
}
