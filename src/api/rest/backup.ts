/** GET /backup: a copy of the embedded database (store/connection/embedded/backup.ts), for admins, because it contains credentials and secrets. */
import { DomainError } from '../../domain/errors.ts'
import type { Millis } from '../../domain/values.ts'
import type { Admission } from '../../platform/limits/admission.ts'
import type { Database } from '../../store/database.ts'
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { answer, drained, type Methods } from './exchange.ts'

export interface BackupDeps {
  readonly database: Pick<Database, 'kind' | 'backUp'>
  readonly admission: Pick<Admission, 'callerOf' | 'openStream'>
  readonly auth: Pick<ApiAuth, 'follow'>
  readonly clock: () => Millis
}

const mediaType = 'application/zstd'

export function backupMethods({ database, admission, auth, clock }: BackupDeps): Methods {
  return {
    GET: {
      access: 'admin of all',
      async handle(exchange, principal) {
        const { request, response } = exchange
        if (!database.backUp)
          throw new DomainError(
            'CONFLICT',
            database.kind === 'postgres'
              ? 'the data is in PostgreSQL: make a backup with pg_dump'
              : 'the data is in memory, so there is nothing to back up: set DATA_DIR to a directory',
          )
        if (exchange.method === 'HEAD') return answer(exchange, 200, mediaType, '')
        const close = admission.openStream(admission.callerOf(principal, request))
        const leave = auth.follow(principal, () => response.destroy())
        try {
          const at = new Date(clock()).toISOString()
          const backup = await database.backUp()
          try {
            response.writeHead(200, {
              'content-type': mediaType,
              'content-disposition': `attachment; filename="rollcall-${backup.revision}.backup"`,
              'cache-control': 'private, no-store',
              'rollcall-revision': String(backup.revision),
              'rollcall-at': at,
            })
            for await (const bytes of backup.bytes) {
              if (!response.destroyed && !response.write(bytes)) await drained(response)
              if (response.destroyed) return
            }
          } finally {
            await backup.close()
          }
          response.end()
        } finally {
          leave()
          close()
        }
      },
    },
  }
}
