/** API keys, managed by admins. */

import { parseScopes } from '../../../domain/access-scope.ts'
import { DomainError } from '../../../domain/errors.ts'
import { createApiKey, revokeApiKey } from '../../../ingest/commands/api-access.ts'
import { findApiKey } from '../../../store/read/api-access.ts'
import { newApiKey } from '../../auth/api/keys.ts'
import { required } from '../execution/required.ts'
import { ApiKey, RoleEnum } from '../objects/api-access.ts'
import { addMutation } from './mutation.ts'

addMutation('createApiKey', {
  access: 'admin of all',
  description: 'Creates an API key. Requires `key` in `API_AUTH`.',
  input: {
    description: 'The key.',
    fields: (t) => ({
      name: t.string({ required: true, description: "The owner's name, as the audit log will show it." }),
      roles: t.field({ type: [RoleEnum], required: true, description: 'The roles that the key grants. At least one.' }),
      scopes: t.stringList({
        description:
          'The part of the fleet that the key can see: `label:<key>=<value>` of devices, `project:<name>` of rollouts. Absent or empty: the whole fleet. `none`: nothing.',
      }),
      expiresAt: t.field({ type: 'DateTime', description: 'When the key expires. Absent: never.' }),
    }),
  },
  check: ({ name, roles, scopes, expiresAt }, check, { clock }) => {
    check.name(['name'], name)
    if (roles.length === 0) check.add(['roles'], 'must not be empty')
    for (const [index, scope] of (scopes ?? []).entries()) check.text(['scopes', index], scope)
    const accessScope = parseScopes(scopes ?? [])
    if (typeof accessScope === 'string') check.add(['scopes'], accessScope)
    if (typeof expiresAt === 'number' && expiresAt <= clock()) check.add(['expiresAt'], 'must be in the future')
  },
  act: async ({ name, roles, scopes, expiresAt = null }, context) => {
    const { id, text, hash } = newApiKey()
    const createdBy = context.principal.name
    const granted = [...new Set(roles)]
    await context.write(createApiKey({ id, hash, name, roles: granted, scopes: scopes ?? [], createdBy, expiresAt }))
    return { apiKey: required(await findApiKey(await context.session(), id), 'API key'), key: text }
  },
  success: {
    description: 'The key was created and is valid immediately.',
    fields: (t) => ({
      apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key, without its text.' }),
      key: t.exposeString('key', {
        description: "The key's text, for `Authorization: Bearer`. It is shown only once.",
      }),
    }),
  },
})

addMutation('revokeApiKey', {
  access: 'admin of all',
  description: 'Revokes an API key and the sessions that were signed in with it.',
  input: {
    description: 'The key to revoke.',
    fields: (t) => ({ id: t.id({ required: true, description: "The key's ID." }) }),
  },
  errors: ['NotFound'],
  check: ({ id }, check) => check.name(['id'], id),
  act: async ({ id }, context) => {
    const known = await findApiKey(await context.session(), id)
    if (!known)
      throw new DomainError('NOT_FOUND', 'the API key does not exist', {
        problems: [{ field: 'id', message: 'is not the ID of an API key' }],
      })
    await context.write(revokeApiKey(id))
    await context.recheckAccess()
    return { apiKey: (await findApiKey(await context.session(), id)) ?? known }
  },
  success: {
    description: 'The key was revoked. Connections that use it are closed on all replicas.',
    fields: (t) => ({ apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key.' }) }),
  },
})
