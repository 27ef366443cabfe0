/** API keys and the audit log, for admins. */
import { newApiKey } from '../../auth/api/keys.ts'
import { parseScopes } from '../../domain/access-scope.ts'
import { DomainError } from '../../domain/errors.ts'
import { roles } from '../../domain/principal.ts'
import { createApiKey, revokeApiKey } from '../../ingest/commands/api-access.ts'
import {
  type ApiKeyRow,
  type AuditLogRow,
  countAuditLog,
  findApiKey,
  listApiKeys,
  pageAuditLog,
} from '../../store/read/api-access.ts'
import { builder } from '../builder.ts'
import { givenFields } from '../mutations/input.ts'
import { checkInput } from '../mutations/input-check.ts'
import { attempt, Forbidden, InvalidInput, NotFound } from '../mutations/user-error.ts'
import { connect, implementConnection, pageArgs } from './connection.ts'

const roleDescriptions: Record<(typeof roles)[number], string> = {
  viewer: "Can read everything in the caller's access scope.",
  reporter: 'Can report what an orchestrator reports. Cannot read.',
  operator: 'Can read, report, and change the fleet.',
  admin: 'Can do everything, including managing API keys and reading the audit log.',
}

const RoleEnum = builder.enumType('Role', {
  description: 'What a caller is allowed to do.',
  values: Object.fromEntries(
    roles.map((role) => [role.toUpperCase(), { value: role, description: roleDescriptions[role] }]),
  ) as Record<string, { value: (typeof roles)[number]; description: string }>,
})

const ApiKey = builder.objectRef<ApiKeyRow>('ApiKey').implement({
  access: 'admin of all',
  description: 'An API key. The server stores only a hash of its text.',
  fields: (t) => ({
    id: t.exposeID('id', { description: "The key's ID, which `revokeApiKey` takes. It is not secret." }),
    name: t.exposeString('name', { description: "The owner's name, as the audit log shows it." }),
    roles: t.field({
      type: [RoleEnum],
      description: 'The roles that the key grants.',
      resolve: (key) => key.roles.flatMap((name) => roles.find((role) => role === name) ?? []),
    }),
    scopes: t.exposeStringList('scopes', {
      description:
        'The part of the fleet that the key can see: `label:<key>=<value>`, `project:<name>`. Empty: the whole fleet. `none`: nothing.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was created.' }),
    createdBy: t.exposeString('createdBy', { description: 'The name of the caller that created the key.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key expires. Null: never.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key was revoked. Null: it was not revoked.',
    }),
  }),
})

const AuditKindEnum = builder.enumType('AuditKind', {
  description: 'The kinds of entries in the audit log.',
  values: {
    MUTATION: { description: 'A mutation was executed or attempted.' },
    SIGN_IN: { description: 'A browser signed in.' },
    SIGN_OUT: { description: 'A browser signed out.' },
    REFUSED: { description: 'A credential was refused.' },
  },
})

const AuditEntry = builder.objectRef<AuditLogRow>('AuditEntry').implement({
  access: 'admin of all',
  description: 'An entry of the audit log.',
  fields: (t) => ({
    at: t.expose('at', {
      type: 'DateTime',
      description: 'When it happened. For an entry that stands for several identical refusals, the time of the first.',
    }),
    kind: t.expose('kind', { type: AuditKindEnum, description: 'The kind of entry.' }),
    who: t.exposeString('who', { description: 'The name of the API key or the subject of the token. Empty: unknown.' }),
    credential: t.exposeString('credential', { description: 'The kind of credential that the caller presented.' }),
    address: t.exposeString('address', {
      description: "The client's IP address. Behind a trusted proxy, the address that the proxy gives.",
    }),
    action: t.exposeString('action', { description: 'The name of the mutation, or the operation that was refused.' }),
    outcome: t.exposeString('outcome', { description: '`done`, or the reason for the refusal.' }),
    detail: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The input, shortened and without secrets.',
      resolve: ({ detail }) => detail ?? null,
    }),
    times: t.exposeInt('times', { description: 'The number of identical refusals that this entry stands for.' }),
  }),
})

const AuditLogConnection = implementConnection('AuditEntry', () => AuditEntry, 'audit log entries, newest first')

const AuditLogFilter = builder.inputType('AuditLogFilter', {
  description:
    'Selects audit log entries. An entry matches a field if it has any of its values; it must match all fields given.',
  fields: (t) => ({
    kinds: t.field({ type: [AuditKindEnum], description: 'Kinds of entries.' }),
    who: t.stringList({ description: 'Names of callers.' }),
    actions: t.stringList({ description: 'Names of mutations.' }),
  }),
})

builder.queryFields((t) => ({
  apiKeys: t.field({
    access: 'admin of all',
    type: [ApiKey],
    description: 'All API keys, newest first, including revoked ones.',
    resolve: async (_, __, { session }) => listApiKeys(await session()),
  }),
  auditLog: t.field({
    access: 'admin of all',
    type: AuditLogConnection,
    description:
      'Mutations, sign-ins and refused credentials, newest first. Entries are retained as long as the history.',
    args: { filter: t.arg({ type: AuditLogFilter, description: 'Selects entries.' }), ...pageArgs() },
    resolve: (_, args, { session }) => {
      const filter = givenFields(args.filter ?? {})
      return connect(
        args,
        async (page) => pageAuditLog(await session(), filter, page),
        async () => countAuditLog(await session(), filter),
      )
    },
  }),
}))

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'Input of `createApiKey`.',
  fields: (t) => ({
    name: t.string({ required: true, description: "The owner's name, as the audit log will show it." }),
    roles: t.field({ type: [RoleEnum], required: true, description: 'The roles that the key grants. At least one.' }),
    scopes: t.stringList({
      description:
        'The part of the fleet that the key can see: `label:<key>=<value>` of devices, `project:<name>` of rollouts. Absent or empty: the whole fleet. `none`: nothing.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When the key expires. Absent: never.' }),
  }),
})

const CreateApiKeySuccess = builder
  .objectRef<{ readonly type: 'CreateApiKeySuccess'; readonly apiKey: ApiKeyRow; readonly key: string }>(
    'CreateApiKeySuccess',
  )
  .implement({
    access: 'admin of all',
    description: 'The key was created and is valid immediately.',
    fields: (t) => ({
      apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key, without its text.' }),
      key: t.exposeString('key', {
        description: "The key's text, for `Authorization: Bearer`. It is shown only once.",
      }),
    }),
  })

const CreateApiKeyResult = builder.unionType('CreateApiKeyResult', {
  description: 'Result of `createApiKey`.',
  types: [CreateApiKeySuccess, InvalidInput, Forbidden],
  resolveType: (result) => result.type,
})

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'Input of `revokeApiKey`.',
  fields: (t) => ({ id: t.id({ required: true, description: "The key's ID." }) }),
})

const RevokeApiKeySuccess = builder
  .objectRef<{ readonly type: 'RevokeApiKeySuccess'; readonly apiKey: ApiKeyRow }>('RevokeApiKeySuccess')
  .implement({
    access: 'admin of all',
    description: 'The key was revoked. Connections that use it are closed on all replicas.',
    fields: (t) => ({ apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key.' }) }),
  })

const RevokeApiKeyResult = builder.unionType('RevokeApiKeyResult', {
  description: 'Result of `revokeApiKey`.',
  types: [RevokeApiKeySuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationFields((t) => ({
  createApiKey: t.field({
    access: 'admin of all',
    type: CreateApiKeyResult,
    description: 'Creates an API key. Requires `key` in `API_AUTH`.',
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key.' }) },
    resolve: (_, { input }, context) => {
      const { name, scopes, expiresAt = null } = input
      const check = checkInput()
      check.name(['name'], name)
      if (input.roles.length === 0) check.add(['roles'], 'must not be empty')
      const accessScope = parseScopes(scopes ?? [])
      for (const [index, scope] of (scopes ?? []).entries()) check.text(['scopes', index], scope)
      if (typeof accessScope === 'string') check.add(['scopes'], accessScope)
      if (expiresAt !== null && expiresAt <= context.clock()) check.add(['expiresAt'], 'must be in the future')
      return attempt(['InvalidInput', 'Forbidden'], check.problems, async () => {
        const { id, text, hash } = newApiKey()
        const createdBy = context.principal.name
        const held = [...new Set(input.roles)]
        await context.write(createApiKey({ id, hash, name, roles: held, scopes: scopes ?? [], createdBy, expiresAt }))
        const apiKey = await findApiKey(await context.session(), id)
        if (!apiKey) throw new Error('the API key that was just created is missing')
        return { type: 'CreateApiKeySuccess' as const, apiKey, key: text }
      })
    },
  }),
  revokeApiKey: t.field({
    access: 'admin of all',
    type: RevokeApiKeyResult,
    description: 'Revokes an API key and the sessions that were signed in with it.',
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'The key to revoke.' }) },
    resolve: (_, { input }, context) => {
      const id = String(input.id)
      const check = checkInput()
      check.name(['id'], id)
      return attempt(['InvalidInput', 'NotFound', 'Forbidden'], check.problems, async () => {
        const known = await findApiKey(await context.session(), id)
        if (!known)
          throw new DomainError('NOT_FOUND', 'the API key does not exist', {
            problems: [{ field: 'id', message: 'is not the ID of an API key' }],
          })
        await context.write(revokeApiKey(id))
        await context.recheckAccess()
        return {
          type: 'RevokeApiKeySuccess' as const,
          apiKey: (await findApiKey(await context.session(), id)) ?? known,
        }
      })
    },
  }),
}))
