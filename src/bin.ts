#!/usr/bin/env node
/** The command `rollcall`: its first argument names the program, which reads the arguments that follow. No other program is loaded. */

const oldest = 24
const programs: Readonly<Record<string, () => Promise<unknown>>> = {
  serve: () => import('./main.ts'),
  demo: () => import('./apps/simulate/demo.ts'),
  simulate: () => import('./apps/simulate/simulate.ts'),
  backup: () => import('./apps/cli/backup/backup.ts'),
  restore: () => import('./apps/cli/backup/restore.ts'),
  export: () => import('./apps/cli/export.ts'),
  maintenance: () => import('./apps/cli/maintenance/maintenance.ts'),
  retire: () => import('./apps/cli/retirement/retire.ts'),
  reinstate: () => import('./apps/cli/retirement/reinstate.ts'),
  'new-epoch': () => import('./apps/cli/new-epoch.ts'),
  migrate: () => import('./apps/cli/migrate.ts'),
  rebuild: () => import('./apps/cli/rebuild.ts'),
}

if (Number.parseInt(process.versions.node, 10) < oldest) {
  console.error(`Rollcall needs Node ${oldest} or later, and this is Node ${process.versions.node}: https://nodejs.org`)
  process.exit(1)
}
const [, , name = ''] = process.argv
const program = Object.hasOwn(programs, name) ? programs[name] : undefined
if (program) process.argv.splice(2, 1)
await (program ?? (() => import('./apps/cli/rollcall.ts')))()
