import { type FilterDeclaration, texts, values } from './filter.ts'

export const auditLogFilter = {
  name: 'AuditLog',
  one: 'an entry',
  many: 'audit log entries',
  isFlat: true,
  conditions: {
    kinds: values('AuditKind')('Kinds of entries.'),
    callers: texts('Names of callers.'),
    actions: texts('Names of mutations.'),
  },
} as const satisfies FilterDeclaration
