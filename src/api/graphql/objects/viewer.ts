/**
 * The caller. Its answer depends on more than the caller's rights, so it must not be shared. `anyone` as the access of the root field
 * keeps it out of the response cache (execution/head-dependence.ts).
 */
import { scopesOf } from '../../../domain/access-scope.ts'
import type { Principal } from '../../../domain/principal.ts'
import { builder } from '../builder.ts'
import { RoleEnum } from './api-access.ts'

const Viewer = builder.objectRef<Principal>('Viewer').implement({
  access: 'anyone',
  description: 'The caller, and what it may do.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: "The caller's name: of its API key, or the subject of its token. The audit log shows it.",
    }),
    roles: t.field({ type: [RoleEnum], description: "The caller's roles.", resolve: ({ roles }) => [...roles] }),
    scopes: t.stringList({
      description:
        'The part of the fleet that the caller can see: `label:<key>=<value>`, `project:<name>`. Empty: the whole fleet. `none`: nothing.',
      resolve: ({ accessScope }) => scopesOf(accessScope),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: "When the caller's credential expires. Null: not known to expire.",
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    access: 'anyone',
    type: Viewer,
    description: 'The caller.',
    resolve: (_, _args, { principal }) => principal,
  }),
)
