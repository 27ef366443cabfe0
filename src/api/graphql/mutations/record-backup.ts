import { recordBackup } from '../../../ingest/commands/backups.ts'
import { findLastBackup } from '../../../store/read/backups.ts'
import { required } from '../execution/required.ts'
import { Backup } from '../objects/backup.ts'
import { addMutation } from './mutation.ts'

addMutation('recordBackup', {
  access: 'admin of all',
  description:
    'Records that a backup was made, when it is complete. `rollcall backup` does so; a script that runs `pg_dump` may.',
  input: {
    description: 'The backup.',
    fields: (t) => ({
      at: t.field({ type: 'DateTime', required: true, description: 'When it was begun.' }),
      revision: t.field({
        type: 'Revision',
        required: true,
        description: 'The newest revision when it was begun, as `revision` of a query says.',
      }),
    }),
  },
  check: async ({ at, revision }, check, context) => {
    if (at > context.clock()) check.add(['at'], 'must not be in the future')
    const { revision: newest } = await (await context.reader()).head
    if (revision > newest) check.add(['revision'], `must not be above the newest revision ${newest}`)
  },
  act: async ({ at, revision }, context) => {
    await context.write(recordBackup({ at, revision }))
    return { lastBackup: required(await findLastBackup(await context.session()), 'backup') }
  },
  success: {
    access: 'operator of all',
    description: 'The backup is recorded.',
    fields: (t) => ({
      lastBackup: t.expose('lastBackup', { type: Backup, description: 'The latest one that is recorded.' }),
    }),
  },
})
