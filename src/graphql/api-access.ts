/** Who may use this API, and who did what: for admins. */
import { newApiKey } from '../auth/api/keys.ts'
import { DomainError } from '../domain/errors.ts'
import { roles } from '../domain/identity.ts'
import { parseScopes } from '../domain/sight.ts'
import { createApiKey, revokeApiKey } from '../ingest/commands/api-access.ts'
import {
  type ApiKeyRow,
  type AuditLogRow,
  countAuditLog,
  findApiKey,
  listApiKeys,
  pageAuditLog,
} from '../store/api-access.ts'
import { builder } from './builder.ts'
import { connect, implementConnection, pageArgs } from './connection.ts'
import { givenFields } from './input.ts'
import { checkInput } from './input-check.ts'
import { attempt, Forbidden, InvalidInput, NotFound } from './user-error.ts'

const words: Record<(typeof roles)[number], string> = {
  viewer: 'Reads.',
  reporter: 'Tells what an orchestrator tells, and reads nothing.',
  operator: 'Reads, tells, and changes the fleet.',
  admin: 'Everything.',
}

const RoleEnum = builder.enumType('Role', {
  description: 'What somebody may do.',
  values: Object.fromEntries(
    roles.map((role) => [role.toUpperCase(), { value: role, description: words[role] }]),
  ) as Record<string, { value: (typeof roles)[number]; description: string }>,
})

const ApiKey = builder.objectRef<ApiKeyRow>('ApiKey').implement({
  access: 'admin of all',
  description: 'A key to this API. Its text was shown once, and is not stored.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Names it to revokeApiKey; no secret.' }),
    name: t.exposeString('name', { description: 'Whose it is, as the audit log says.' }),
    roles: t.field({
      type: [RoleEnum],
      description: 'What it may do.',
      resolve: (key) => key.roles.flatMap((name) => roles.find((role) => role === name) ?? []),
    }),
    scopes: t.exposeStringList('scopes', {
      description: 'How much of the fleet it sees: `label:<key>=<value>`, `project:<name>`; empty: all of it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    createdBy: t.exposeString('createdBy', { description: 'Who made it.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Good until then; null: until it is revoked.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked; null: it is good.',
    }),
  }),
})

const AuditKindEnum = builder.enumType('AuditKind', {
  description: 'What the audit log has.',
  values: {
    MUTATION: { description: 'Somebody changed something, or tried to.' },
    SIGN_IN: { description: 'A browser signed in.' },
    SIGN_OUT: { description: 'A browser signed out.' },
    REFUSED: { description: 'A credential was refused.' },
  },
})

const AuditEntry = builder.objectRef<AuditLogRow>('AuditEntry').implement({
  access: 'admin of all',
  description: 'A line of the audit log.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When; of several that were alike the first.' }),
    kind: t.expose('kind', { type: AuditKindEnum, description: 'What it is about.' }),
    who: t.exposeString('who', { description: 'The key’s name or the token’s subject; empty: unknown.' }),
    credential: t.exposeString('credential', { description: 'What kind of credential was presented.' }),
    address: t.exposeString('address', { description: 'From where; behind a trusted proxy as that says.' }),
    action: t.exposeString('action', { description: 'The mutation, or what was asked for.' }),
    outcome: t.exposeString('outcome', { description: '`done`, or why not.' }),
    detail: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The input, shortened and without secrets.',
      resolve: ({ detail }) => detail ?? null,
    }),
    times: t.exposeInt('times', { description: 'How many refusals that were alike it stands for.' }),
  }),
})

const AuditLogConnection = implementConnection('AuditEntry', () => AuditEntry, 'lines, newest first')

const AuditLogFilter = builder.inputType('AuditLogFilter', {
  description: 'Which lines: any of the values within a field, all fields together.',
  fields: (t) => ({
    kinds: t.field({ type: [AuditKindEnum], description: 'What they are about.' }),
    who: t.stringList({ description: 'Who.' }),
    actions: t.stringList({ description: 'Which mutations.' }),
  }),
})

builder.queryFields((t) => ({
  apiKeys: t.field({
    access: 'admin of all',
    type: [ApiKey],
    description: 'All keys to this API, newest first; revoked ones too.',
    resolve: (_, __, { session }) => listApiKeys(session),
  }),
  auditLog: t.field({
    access: 'admin of all',
    type: AuditLogConnection,
    description: 'Who changed what, and which credentials were refused. Kept as long as the history.',
    args: { filter: t.arg({ type: AuditLogFilter, description: 'Which lines.' }), ...pageArgs() },
    resolve: (_, args, { session }) => {
      const filter = givenFields(args.filter ?? {})
      return connect(
        args,
        (page) => pageAuditLog(session, filter, page),
        () => countAuditLog(session, filter),
      )
    },
  }),
}))

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'What createApiKey takes.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Whose it is.' }),
    roles: t.field({ type: [RoleEnum], required: true, description: 'What it may do; at least one.' }),
    scopes: t.stringList({
      description:
        'How much of the fleet: `label:<key>=<value>` of devices, `project:<name>` of rollouts. Without any: all.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'Good until then; without it until it is revoked.' }),
  }),
})

const CreateApiKeySuccess = builder
  .objectRef<{ readonly type: 'CreateApiKeySuccess'; readonly apiKey: ApiKeyRow; readonly key: string }>(
    'CreateApiKeySuccess',
  )
  .implement({
    access: 'admin of all',
    description: 'It is good from now on.',
    fields: (t) => ({
      apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key, without its text.' }),
      key: t.exposeString('key', { description: 'Its text, for `Authorization: Bearer`. It cannot be shown again.' }),
    }),
  })

const CreateApiKeyResult = builder.unionType('CreateApiKeyResult', {
  description: 'What became of createApiKey.',
  types: [CreateApiKeySuccess, InvalidInput, Forbidden],
  resolveType: (result) => result.type,
})

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'What revokeApiKey takes.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Which key: its id.' }) }),
})

const RevokeApiKeySuccess = builder
  .objectRef<{ readonly type: 'RevokeApiKeySuccess'; readonly apiKey: ApiKeyRow }>('RevokeApiKeySuccess')
  .implement({
    access: 'admin of all',
    description: 'It is good no more; what was open with it ends, within a second on other replicas.',
    fields: (t) => ({ apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key.' }) }),
  })

const RevokeApiKeyResult = builder.unionType('RevokeApiKeyResult', {
  description: 'What became of revokeApiKey.',
  types: [RevokeApiKeySuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationFields((t) => ({
  createApiKey: t.field({
    access: 'admin of all',
    type: CreateApiKeyResult,
    description: 'Makes a key to this API. Needs API_AUTH to have `key`.',
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key.' }) },
    resolve: (_, { input }, context) => {
      const { name, scopes, expiresAt = null } = input
      const check = checkInput()
      check.name(['name'], name)
      if (input.roles.length === 0) check.add(['roles'], 'must not be empty')
      const sight = parseScopes(scopes ?? [])
      for (const [index, scope] of (scopes ?? []).entries()) check.text(['scopes', index], scope)
      if (typeof sight === 'string') check.add(['scopes'], sight)
      if (expiresAt !== null && expiresAt <= Date.now()) check.add(['expiresAt'], 'must be in the future')
      return attempt(['InvalidInput', 'Forbidden'], check.problems, async () => {
        const { id, text, hash } = newApiKey()
        const createdBy = context.identity.name
        const held = [...new Set(input.roles)]
        await context.write(createApiKey({ id, hash, name, roles: held, scopes: scopes ?? [], createdBy, expiresAt }))
        const apiKey = await findApiKey(context.session, { id })
        if (!apiKey) throw new Error('a key is gone that was just made')
        return { type: 'CreateApiKeySuccess' as const, apiKey, key: text }
      })
    },
  }),
  revokeApiKey: t.field({
    access: 'admin of all',
    type: RevokeApiKeyResult,
    description: 'Withdraws a key, and the sessions that were signed in with it.',
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'Which key.' }) },
    resolve: (_, { input }, context) => {
      const id = String(input.id)
      const check = checkInput()
      check.name(['id'], id)
      return attempt(['InvalidInput', 'NotFound', 'Forbidden'], check.problems, async () => {
        const known = await findApiKey(context.session, { id })
        if (!known)
          throw new DomainError('NOT_FOUND', 'there is no such key', {
            problems: [{ field: 'id', message: 'names no key' }],
          })
        await context.write(revokeApiKey(id))
        await context.recheckAccess()
        return { type: 'RevokeApiKeySuccess' as const, apiKey: (await findApiKey(context.session, { id })) ?? known }
      })
    },
  }),
}))
