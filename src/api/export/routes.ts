/** The routes of exports. What serves them is loaded with the first request. */
import type { Access } from '../../domain/principal.ts'
import type { OwnRoutes } from '../rest/contract/own.ts'
import type { Methods } from '../rest/exchange.ts'
import type { ExportDeps } from './serve.ts'

/** As in GraphQL: `changes` and `auditLog` have these rules. */
const access = {
  changes: 'viewer',
  reports: 'viewer',
  deployments: 'viewer',
  devices: 'viewer',
  audit: 'admin of all',
} as const satisfies Record<string, Access>

export function exportRoutes(deps: ExportDeps): OwnRoutes {
  const names = Object.keys(access) as (keyof typeof access)[]
  return Object.fromEntries(
    names.flatMap((name) =>
      [false, true].map((isManifest): [keyof OwnRoutes, Methods] => [
        isManifest ? `/export/${name}/manifest` : `/export/${name}`,
        {
          GET: {
            access: access[name],
            async handle(exchange, principal) {
              const { serveExport } = await import('./serve.ts')
              await serveExport(deps, exchange, principal, name, isManifest)
            },
          },
        },
      ]),
    ),
  )
}
