/** Two PostgreSQL that Patroni leads, with etcd and HAProxy: the programs of Debian. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findPostgres, unprivileged } from '../databases/postgres-server.ts'
import { freePorts } from '../servers/ports.ts'

export interface PatroniNode {
  readonly name: string
  readonly url: string
  /** Its machine stops at once. */
  kill(): Promise<void>
  /** Its machine stands still: nothing is closed, and nothing answers. */
  freeze(): void
  /**
   * Its PostgreSQL goes on, and its Patroni begins anew, as after a watchdog. Patroni 3.0 itself, if it goes on, writes its name over that of the new leader
   * (dcs/etcd3.py, _update_leader), and what was committed there meanwhile is lost.
   */
  thaw(): void
  start(): void
  /** Its Patroni stands still, and changes no settings. Its PostgreSQL goes on. */
  freezePatroni(): void
  thawPatroni(): void
}

export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[]
  /** The database at HAProxy, which asks Patroni who leads. */
  readonly proxied: string
  /** The database at both hosts. */
  readonly hosts: string
  /** Once the other is a standby that may be promoted. */
  leader(): Promise<PatroniNode>
  primary(): Promise<PatroniNode>
  switchOver(): Promise<void>
  stopConsensus(): void
  continueConsensus(): void
  dispose(): Promise<void>
}

/** Where the programs of a node run: on a machine of its own, or on this one. */
export interface Place {
  readonly address: string
  /** Before each command. */
  readonly prefix: readonly string[]
}

const here: Place = { address: '127.0.0.1', prefix: [] }

export function hasPatroni(): boolean {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  return ['patroni', 'etcd', 'haproxy'].every((name) => folders.some((folder) => existsSync(join(folder, name))))
}

export interface PatroniOptions {
  /** A commit waits for the standby. */
  readonly isSynchronous: boolean
  readonly places?: { readonly consensus: Place; readonly nodes: readonly [Place, Place] }
}

export async function startPatroni({ isSynchronous, places }: PatroniOptions): Promise<PatroniCluster> {
  const { consensus, nodes: of } = places ?? { consensus: here, nodes: [here, here] as const }
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-patroni-'))
  chmodSync(folder, 0o777)
  const ports = await freePorts(7)
  const [store = 0, peer = 0, proxy = 0] = ports
  const scope = `rollcall-${store}`
  const children = new Set<ChildProcess>()
  const run = (place: Place, program: string, ...args: readonly string[]): ChildProcess => {
    const [command = '', ...more] = [...place.prefix, ...asUser(), program, ...args]
    // Not in this one's group, and not with its pipes.
    const child = spawn(command, more, { stdio: 'ignore', cwd: folder, detached: true, env: environment() })
    children.add(child)
    return child
  }
  const watchdog = spawn('sh', ['-c', cleanUp, folder, String(process.pid), scope], { detached: true, stdio: 'ignore' })
  watchdog.unref()

  const storeUrl = `http://${consensus.address}:${store}`
  const peerUrl = `http://${consensus.address}:${peer}`
  const etcd = run(
    consensus,
    'etcd',
    ...['--data-dir', join(folder, 'etcd'), '--name', 'one', '--logger', 'zap', '--log-level', 'error'],
    ...['--listen-client-urls', storeUrl, '--advertise-client-urls', storeUrl],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `one=${peerUrl}`],
  )
  const members = of.map((place, index) => {
    const [database = 0, api = 0] = ports.slice(3 + index * 2)
    const name = `node-${index + 1}`
    const file = join(folder, `${name}.json`)
    const dataDir = join(folder, name)
    const settings = settingsOf({
      scope,
      name,
      place,
      database,
      api,
      dataDir,
      store: `${consensus.address}:${store}`,
      isSynchronous,
    })
    // Its settings are YAML, of which JSON is a part.
    writeFileSync(file, JSON.stringify(settings))
    let patroni = run(place, 'patroni', file)
    const signal = (name: NodeJS.Signals): void => {
      for (const pid of treeOf([patroni.pid ?? 0, postmasterOf(dataDir)])) tell(pid, name)
    }
    const node: PatroniNode & { readonly api: string } = {
      name,
      url: `postgres://postgres:secret@${place.address}:${database}/postgres`,
      api: `http://${place.address}:${api}`,
      async kill() {
        const ended = once(patroni, 'exit')
        signal('SIGKILL')
        await ended
      },
      freeze: () => signal('SIGSTOP'),
      thaw() {
        tell(patroni.pid ?? 0, 'SIGKILL')
        signal('SIGCONT')
        node.start()
      },
      start() {
        patroni = run(place, 'patroni', file)
      },
      freezePatroni: () => tell(patroni.pid ?? 0, 'SIGSTOP'),
      thawPatroni: () => tell(patroni.pid ?? 0, 'SIGCONT'),
    }
    return node
  })
  writeFileSync(join(folder, 'haproxy.cfg'), proxyOf(proxy, members))
  run(here, existsSync('/usr/sbin/haproxy') ? '/usr/sbin/haproxy' : 'haproxy', '-f', join(folder, 'haproxy.cfg'))

  const is = async (node: { readonly api: string }, role: string): Promise<boolean> =>
    (await fetch(`${node.api}/${role}`, { signal: AbortSignal.timeout(1_000) }).catch(() => null))?.ok ?? false
  const follower = isSynchronous ? 'sync' : 'replica'
  async function untilLed(role: string | null): Promise<PatroniNode> {
    for (;;) {
      for (const [index, node] of members.entries()) {
        const other = members[1 - index] ?? node
        if ((await is(node, 'primary')) && (role === null || (await is(other, role)))) return node
      }
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  const dispose = async (): Promise<void> => {
    watchdog.kill()
    etcd.kill('SIGCONT')
    const pids = [...children].flatMap(({ pid }) => pid ?? [])
    const postmasters = members.map(({ name }) => postmasterOf(join(folder, name)))
    for (const pid of treeOf([...pids, ...postmasters])) tell(pid, 'SIGKILL')
    await Promise.all([...children].map((child) => isOver(child) || once(child, 'exit')))
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  return {
    nodes: members,
    proxied: `postgres://postgres:secret@127.0.0.1:${proxy}/postgres`,
    hosts: `postgres://postgres:secret@${members.map(({ url }) => new URL(url).host).join(',')}/postgres`,
    leader: () => untilLed(follower),
    primary: () => untilLed(null),
    async switchOver() {
      const [leader, next] = (await is(members[0] ?? fail(), 'primary')) ? members : members.toReversed()
      const body = JSON.stringify({ leader: leader?.name, candidate: next?.name })
      const answer = await fetch(`${leader?.api}/switchover`, { method: 'POST', body })
      if (!answer.ok) throw new Error(`Patroni does not switch over: ${await answer.text()}`)
    },
    stopConsensus: () => void etcd.kill('SIGSTOP'),
    continueConsensus: () => void etcd.kill('SIGCONT'),
    dispose,
  }
}

/** Tests that are killed clean nothing up: this does. */
const cleanUp =
  'while [ -d "/proc/$1" ]; do sleep 1; done; pkill -CONT -f "$0|postgres: $2:"; pgrep -f "$0" | grep -vx $$ | xargs -r kill -KILL; sleep 1; rm -rf "$0"'

interface Settings {
  /** Of the cluster, in etcd and in the names of its processes. */
  readonly scope: string
  readonly name: string
  readonly place: Place
  readonly database: number
  readonly api: number
  readonly dataDir: string
  readonly store: string
  readonly isSynchronous: boolean
}

/** The shortest times that Patroni takes: a lost leader is replaced after 20 s. */
function settingsOf({ scope, name, place: { address }, database, api, dataDir, store, isSynchronous }: Settings) {
  const parameters = {
    ...{ max_connections: 150, shared_buffers: '64MB', max_wal_senders: 6, wal_level: 'replica', wal_log_hints: 'on' },
    ...{ unix_socket_directories: '', fsync: 'off' },
  }
  return {
    scope,
    name,
    restapi: { listen: `${address}:${api}`, connect_address: `${address}:${api}` },
    etcd3: { host: store },
    bootstrap: {
      dcs: {
        ...{ ttl: 20, loop_wait: 1, retry_timeout: 3, maximum_lag_on_failover: 1_000_000_000 },
        synchronous_mode: isSynchronous,
        postgresql: { use_pg_rewind: true, use_slots: true, parameters },
      },
      initdb: [{ encoding: 'UTF8' }, 'no-sync'],
      pg_hba: ['host all all 0.0.0.0/0 md5', 'host replication all 0.0.0.0/0 md5'],
    },
    postgresql: {
      ...{ listen: `${address}:${database}`, connect_address: `${address}:${database}` },
      ...{ data_dir: dataDir, bin_dir: findPostgres(), pgpass: `${dataDir}.pgpass` },
      authentication: {
        superuser: { username: 'postgres', password: 'secret' },
        replication: { username: 'replicator', password: 'secret' },
      },
    },
  }
}

/** As Patroni's documentation proposes. */
function proxyOf(
  port: number,
  nodes: readonly { readonly name: string; readonly url: string; readonly api: string }[],
) {
  return [
    ...[
      'defaults',
      'mode tcp',
      'retries 2',
      'timeout client 30m',
      'timeout connect 4s',
      'timeout server 30m',
      'timeout check 1s',
    ],
    ...['listen rollcall', `bind 127.0.0.1:${port}`, 'option httpchk OPTIONS /primary', 'http-check expect status 200'],
    'default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...nodes.map(({ name, url, api }) => `server ${name} ${new URL(url).host} check port ${new URL(api).port}`),
    '',
  ].join('\n')
}

function environment() {
  return { PATH: `${process.env.PATH}:/usr/sbin`, LC_ALL: 'C.UTF-8', TZ: 'UTC' }
}

/** PostgreSQL refuses to run as root. */
function asUser(): readonly string[] {
  const user = unprivileged()
  return user ? ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : []
}

function postmasterOf(dataDir: string): number {
  const file = join(dataDir, 'postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0
}

/** These processes, and those that they have started. */
function treeOf(roots: readonly number[]): readonly number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => [Number(pid), parentOf(pid)] as const)
  const found = new Set(roots.filter((pid) => pid > 1 && existsSync(`/proc/${pid}`)))
  for (const parent of found) for (const [pid, ppid] of parents) if (ppid === parent) found.add(pid)
  return [...found]
}

function parentOf(pid: string): number {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}

function tell(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

const isOver = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

function fail(): never {
  throw new Error('the cluster has two nodes')
}
