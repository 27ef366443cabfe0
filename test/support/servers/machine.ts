/**
 * A machine of its own for commands of root: its files are this machine's, and what it changes of them is in memory. It has its own processes, ports and
 * loopback address, so nothing of it reaches another test, and nothing is left of it. The checkout is in /opt/rollcall, PostgreSQL runs, and
 * `systemctl` is systemctl.mjs.
 */
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres } from '../databases/postgres-server.ts'
import { root } from '../documentation.ts'

/** $1: a folder. $2: the checkout. $3: the programs of PostgreSQL. */
const prepare = `set -e
mount --make-rprivate /
mount -t tmpfs -o mode=0755 none "$1/files"
mkdir "$1/files/upper" "$1/files/work" "$1/files/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/files/upper,workdir=$1/files/work" overlay "$1/files/root"
new=$1/files/root
mount --rbind /dev "$new/dev"
mount -t proc proc "$new/proc"
mount -t tmpfs -o mode=0755 none "$new/run"
mkdir -p "$new/opt/rollcall" "$new/run/postgresql"
mount --bind "$2" "$new/opt/rollcall"
mount -o remount,bind,ro "$new/opt/rollcall"
install -m 755 "$2/test/support/servers/systemctl.mjs" "$new/usr/local/bin/systemctl"
install -m 644 "$1/commands.sh" "$new/commands.sh"
echo '127.0.0.1 localhost rollcall.example' > "$new/etc/hosts"
ip link set lo up
chown postgres "$new/run/postgresql"
exec chroot "$new" sh -ec '
  cd /opt/rollcall
  umask 022
  install -d -o postgres /postgresql
  su postgres -c "cd /postgresql && '"'$3'"'/initdb -D data --no-sync --auth-local=peer --auth-host=scram-sha-256 >/dev/null && '"'$3'"'/pg_ctl -D data -l log -w start >/dev/null"
  exec sh -e /commands.sh'
`

const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child']
const tryOverlay = `mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/r && mount -t overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w overlay /mnt/r && ip link set lo up`

/** Namespaces and mounts need root, and a kernel that takes an overlay on this file system. */
export const hasMachines =
  process.getuid?.() === 0 &&
  findPostgres() !== null &&
  spawnSync('unshare', [...namespaces, 'sh', '-c', tryOverlay]).status === 0

/** Milliseconds. The machine ends with all its processes. */
const longest = 100_000
const run = promisify(execFile)

/** Runs the commands and returns what they print. Throws if one fails. */
export async function runOnMachine(commands: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-machine-'))
  try {
    writeFileSync(join(folder, 'commands.sh'), commands)
    mkdirSync(join(folder, 'files'))
    const args = [...namespaces, 'sh', '-c', prepare, 'sh', folder, root, findPostgres() ?? '']
    const PATH = `${join(root, 'node_modules/.bin')}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
    return (await run('unshare', args, { env: { PATH }, timeout: longest, killSignal: 'SIGKILL' })).stdout
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
