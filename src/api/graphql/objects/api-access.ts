/** API keys and the audit log, for admins. */

import { auditLogFilter } from '../../../domain/nouns/audit-entry.ts'
import { roles } from '../../../domain/principal.ts'
import {
  type ApiKeyRow,
  type AuditLogRow,
  countAuditLog,
  listApiKeys,
  pageAuditLog,
} from '../../../store/read/api-access.ts'
import { builder } from '../builder.ts'
import { connect, implementConnection, pageArgs } from './connection.ts'
import { Node } from './interfaces.ts'
import { implementFilter } from './selectors/selector.ts'

const roleDescriptions: Record<(typeof roles)[number], string> = {
  viewer: "Can read everything in the caller's access scope.",
  reporter: 'Can report what an orchestrator reports. Cannot read.',
  operator: 'Can read, report, and change the fleet.',
  admin: 'Can do everything, including managing API keys and reading the audit log.',
}

export const RoleEnum = builder.enumType('Role', {
  description: 'What a caller is allowed to do.',
  values: Object.fromEntries(
    roles.map((role) => [role.toUpperCase(), { value: role, description: roleDescriptions[role] }]),
  ) as Record<string, { value: (typeof roles)[number]; description: string }>,
})

export const ApiKey = builder.objectRef<ApiKeyRow>('ApiKey').implement({
  access: 'admin of all',
  description: 'An API key. The server stores only a hash of its text.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      access: 'viewer',
      description: "The key's ID, which `revokeApiKey` takes. It is not secret.",
      resolve: ({ id }) => id,
    }),
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
    caller: t.exposeString('caller', {
      description: 'The name of the API key or the subject of the token. Empty: unknown.',
    }),
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

const { ref: AuditLogFilterRef, read: toAuditLogFilter } = implementFilter(auditLogFilter)

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
    args: { filter: t.arg({ type: AuditLogFilterRef, description: 'Selects entries.' }), ...pageArgs() },
    resolve: (_, args, { session }) => {
      const filter = toAuditLogFilter(args.filter)
      return connect(
        args,
        async (page) => pageAuditLog(await session(), filter, page),
        async () => countAuditLog(await session(), filter),
      )
    },
  }),
}))
