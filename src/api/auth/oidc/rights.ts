/**
 * What a person may do, from the groups that the issuer states. A caller of Rollcall has one access scope for all its roles, so grants of
 * different groups cannot be added up: `admin` in one project and `viewer` everywhere would become `admin` everywhere. Therefore
 *
 *   1. only the grants of the highest role count,
 *   2. one of them without scopes gives the whole fleet,
 *   3. scopes of one kind (only labels, or only projects) are added up,
 *   4. otherwise the first grant in the table counts: a union of labels and projects would show what no group shows.
 */
import { parseScopes } from '../../../domain/access-scope.ts'
import { type Role, roles } from '../../../domain/principal.ts'

interface Grant {
  readonly group: string
  readonly role: Role
  /** In the format of parseScopes. Empty: the whole fleet. */
  readonly scopes: readonly string[]
}

/** In the order of the file. */
export type RoleTable = readonly Grant[]

export interface Rights {
  readonly roles: readonly Role[]
  readonly scopes: readonly string[]
}

/** The group of every person whom the issuer signs in. */
const everyGroup = '*'

/** Null: no group has a role. */
export function rightsOf(groups: readonly string[], table: RoleTable): Rights | null {
  const held = table.filter(({ group }) => group === everyGroup || groups.includes(group))
  const role = roles.findLast((each) => held.some((grant) => grant.role === each))
  if (role === undefined) return null
  const [first, ...others] = held.filter((grant) => grant.role === role)
  const all = [first, ...others].flatMap((grant) => grant ?? [])
  if (all.some(({ scopes }) => scopes.length === 0)) return { roles: [role], scopes: [] }
  const kinds = new Set(all.flatMap(({ scopes }) => kindsOf(scopes)))
  const scopes = kinds.size === 1 ? all.flatMap((grant) => grant.scopes) : (first?.scopes ?? [])
  return { roles: [role], scopes: [...new Set(scopes)] }
}

/** `none` shows nothing and adds nothing. */
function kindsOf(scopes: readonly string[]): string[] {
  const parsed = parseScopes(scopes)
  if (parsed === null || typeof parsed === 'string') return []
  return [...(parsed.labels === null ? [] : ['label']), ...(parsed.projects === null ? [] : ['project'])]
}

export function isSameRights(a: Rights, b: Rights): boolean {
  const text = ({ roles: held, scopes }: Rights) => JSON.stringify([[...held].sort(), [...scopes].sort()])
  return text(a) === text(b)
}
