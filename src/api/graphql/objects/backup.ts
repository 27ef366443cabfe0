import { type BackupRow, findLastBackup } from '../../../store/read/backups.ts'
import { builder } from '../builder.ts'

export const Backup = builder.objectRef<BackupRow>('Backup').implement({
  access: 'operator of all',
  description: 'A backup of the database.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When it was begun.' }),
    revision: t.expose('revision', {
      type: 'Revision',
      description: 'A revision that it contains. It may contain later ones, which were committed while it was made.',
    }),
  }),
})

builder.queryFields((t) => ({
  lastBackup: t.field({
    access: 'operator of all',
    type: Backup,
    nullable: true,
    description: 'The latest backup that was recorded by `rollcall backup` or `recordBackup`. Null: there is none.',
    resolve: async (_, __, context) => findLastBackup(await context.session()),
  }),
}))
