/**
 * The programs that some tests need. Where one is missing, its tests are skipped, and the run says so first. Where `CI` is set, or the program's
 * own `ROLLCALL_REQUIRE_…` is 1, the run fails instead.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium } from '../clients/browser.ts'
import { findPostgres } from '../databases/postgres-server.ts'
import { canRender } from '../systems/helm.ts'
import { hasKustomize } from '../systems/kustomize.ts'
import { findMosquitto } from '../systems/mosquitto.ts'
import { findNginx } from '../systems/nginx.ts'
import { hasPatroni } from '../systems/patroni.ts'
import { findPgBouncer } from '../systems/pgbouncer.ts'
import { findSwift } from '../systems/swift.ts'

interface Program {
  readonly name: string
  /** Debian's packages. */
  readonly packages: string
  /** What is not tested without it. */
  readonly untested: string
  readonly isThere: () => boolean
}

const runs = (command: string, ...args: readonly string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

const needed: readonly Program[] = [
  {
    name: 'PostgreSQL',
    packages: 'postgresql',
    untested: 'PostgreSQL, several servers, standbys, backups',
    isThere: () => Boolean(process.env.DATABASE_URL) || findPostgres() !== null,
  },
  {
    name: 'Chromium',
    packages: 'chromium-headless-shell',
    untested: 'the page',
    isThere: () => findChromium() !== null,
  },
  { name: 'nginx', packages: 'nginx', untested: 'deploy/nginx.conf', isThere: () => findNginx() !== null },
  {
    name: 'PgBouncer',
    packages: 'pgbouncer',
    untested: 'PostgreSQL behind a pooler',
    isThere: () => findPgBouncer() !== null,
  },
  {
    name: 'Patroni',
    packages: 'patroni etcd-server haproxy',
    untested: 'failovers of PostgreSQL',
    isThere: hasPatroni,
  },
  {
    name: 'Mosquitto',
    packages: 'mosquitto mosquitto-clients',
    untested: 'reports and publishing by MQTT',
    isThere: () => findMosquitto() !== null && existsSync('/usr/bin/mosquitto_rr'),
  },
  {
    name: 'Prometheus',
    packages: 'prometheus prometheus-alertmanager',
    untested: 'deploy/monitoring, Alertmanagers',
    isThere: () => ['promtool', 'amtool', 'prometheus-alertmanager'].every((name) => runs(name, '--version')),
  },
  { name: 'Swift', packages: 'python3-swift', untested: 'the archive in OpenStack Swift', isThere: findSwift },
  {
    name: 'Kubectl',
    // Debian 12 has one that is too old, and no other.
    packages: runs('kubectl', 'version', '--client') ? '' : 'kubernetes-client',
    untested: 'deploy/kubernetes (kubectl 1.24 or later)',
    isThere: hasKustomize,
  },
  {
    name: 'Helm',
    // Not helm itself, which Debian does not have.
    packages: 'golang-go',
    untested: 'deploy/helm',
    isThere: () => canRender,
  },
  { name: 'git', packages: 'git', untested: 'desired state by git', isThere: () => runs('git', '--version') },
  {
    name: 'curl',
    packages: 'curl',
    untested: 'the commands of the documents',
    isThere: () => runs('curl', '--version'),
  },
  {
    name: 'OpenSSL',
    packages: 'openssl',
    untested: 'the commands of docs/device-identity.md',
    isThere: () => runs('openssl', 'version'),
  },
  {
    name: 'Python',
    packages: 'python3-cryptography',
    untested: 'the signer in Python of docs/device-identity.md, examples/rollcall_device.py',
    isThere: () => hasPython() && runs('python3', '-c', 'import cryptography'),
  },
  {
    name: 'C',
    packages: 'gcc libc6-dev libcurl4-openssl-dev libssl-dev',
    untested: 'the signer in C of docs/device-identity.md, examples/rollcall_device.h, PostgreSQL whose power goes',
    isThere: hasCompiler,
  },
  {
    name: 'fixtures',
    packages: '',
    untested: "other projects' data (a folder beside the checkout)",
    isThere: () => existsSync(join(import.meta.dirname, '../../../../shared/fixtures')),
  },
]

const variable = (name: string): string => `ROLLCALL_REQUIRE_${name.toUpperCase()}`

/** With what examples/rollcall_device.py imports. */
export function hasPython(): boolean {
  return runs('python3', '-c', 'import sqlite3')
}

/** With what the C of docs/device-identity.md includes. */
export function hasCompiler(): boolean {
  return runs('sh', '-c', 'printf "#include <curl/curl.h>\\n#include <openssl/evp.h>\\n" | cc -E -x c -')
}

/** A line for each missing program. Throws an error that names them all if one of them is required. */
export function missingPrograms(programs: readonly Program[] = needed, env = process.env): readonly string[] {
  const missing = programs.filter(({ isThere }) => !isThere())
  const lines = missing.map(
    ({ name, packages, untested }) =>
      `not tested, because ${name} is missing: ${untested}${packages && ` (apt-get install ${packages})`}`,
  )
  // The fixtures are in no package, so only their own variable requires them.
  const isRequired = ({ name, packages }: Program) => env[variable(name)] === '1' || (env.CI && packages !== '')
  const required = missing.filter(isRequired)
  if (required.length === 0) return lines
  const variables = required.map(({ name }) => variable(name)).join(', ')
  throw new Error(`${lines.join('\n')}\nCI or one of ${variables} requires what is missing`)
}
