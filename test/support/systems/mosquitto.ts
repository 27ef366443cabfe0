/** Mosquitto, a broker of MQTT, on a port and in a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answers, freePorts } from '../servers/ports.ts'

export interface Mosquitto {
  readonly url: string
  readonly port: number
  /** With `tls`: its other addresses. */
  readonly others: Readonly<Record<'mqtts' | 'ws' | 'wss', string>> | null
  /** Starts it again, on the same port. */
  start(): Promise<void>
  /** SIGTERM: it writes its sessions and retained messages, if it keeps them. SIGKILL: it does not. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Replaces its topic rules while it runs. */
  setRules(lines: readonly string[]): void
  /** Writes sessions and retained messages now. */
  save(): Promise<void>
  /** While it is stopped: removes what it has written. */
  forget(): void
  dispose(): Promise<void>
}

export interface MosquittoOptions {
  /** Whether sessions and retained messages outlive an orderly end. */
  readonly isPersistent?: boolean
  /** Lines of its topic rules. Clients then need a user name, and any is accepted. */
  readonly rules?: readonly string[]
  /** Bytes of a message that it accepts. It says so to its clients, and ends the connection of one that sends more. */
  readonly largestMessage?: number
  /** Refuses subscriptions, as its own plugin for rules does. Topic rules of a file never refuse one: they drop messages. */
  readonly refusesSubscriptions?: boolean
  /** Paths of files. It also listens with TLS, where a client needs a certificate, whose name is its user, and for WebSockets, with and without TLS. */
  readonly tls?: { readonly authority: string; readonly cert: string; readonly key: string }
}

/** Its plugin for rules that clients can change; null where there is none. */
function findPlugin(): string | null {
  return globSync('/usr/lib/*/mosquitto_dynamic_security.so')[0] ?? null
}

/** The program; null where there is none. */
export function findMosquitto(): string | null {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  return folders.map((folder) => join(folder, 'mosquitto')).find((file) => existsSync(file)) ?? null
}

export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const { isPersistent = false, rules, largestMessage, refusesSubscriptions = false, tls } = options
  const program = findMosquitto()
  if (!program) throw new Error('there is no mosquitto on this machine')
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-mosquitto-'))
  const [port = 0, secure, web, secureWeb] = await freePorts(tls ? 4 : 1)
  const certificates = tls ? [`cafile ${tls.authority}`, `certfile ${tls.cert}`, `keyfile ${tls.key}`] : []
  const configuration = join(folder, 'mosquitto.conf')
  const writeRules = (lines: readonly string[]): void =>
    writeFileSync(join(folder, 'rules'), `${lines.join('\n')}\n`, { mode: 0o700 })
  if (rules) writeRules(rules)
  if (refusesSubscriptions) writeFileSync(join(folder, 'security.json'), JSON.stringify(withoutSubscriptions))
  writeFileSync(
    configuration,
    [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      'max_queued_messages 0',
      'set_tcp_nodelay true',
      // It changes to another user otherwise, who may not write to the folder of a test.
      ...(process.getuid?.() === 0 ? ['user root'] : []),
      ...(isPersistent ? ['persistence true', `persistence_location ${folder}/`] : ['persistence false']),
      ...(largestMessage === undefined ? [] : [`max_packet_size ${largestMessage}`]),
      ...(rules ? [`acl_file ${join(folder, 'rules')}`] : []),
      ...(refusesSubscriptions
        ? [`plugin ${findPlugin()}`, `plugin_opt_config_file ${join(folder, 'security.json')}`]
        : []),
      ...(tls
        ? [
            ...[`listener ${secure} 127.0.0.1`, ...certificates, 'require_certificate true'],
            ...['use_identity_as_username true', `listener ${web} 127.0.0.1`, 'protocol websockets'],
            ...[`listener ${secureWeb} 127.0.0.1`, 'protocol websockets', ...certificates],
          ]
        : []),
    ].join('\n'),
  )
  let child: ChildProcess | null = null
  let said = ''

  async function start(): Promise<void> {
    const started = spawn(program ?? '', ['-c', configuration], { stdio: ['ignore', 'ignore', 'pipe'] })
    child = started
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    while (!(await answers(port))) {
      if (isOver(started)) throw new Error(`mosquitto does not start: ${said}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  async function stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (!child || isOver(child)) return
    const ended = once(child, 'close')
    child.kill(signal)
    await ended
  }

  await start()
  return {
    url: `mqtt://127.0.0.1:${port}`,
    port,
    others: tls
      ? {
          mqtts: `mqtts://localhost:${secure}`,
          ws: `ws://localhost:${web}/mqtt`,
          wss: `wss://localhost:${secureWeb}/mqtt`,
        }
      : null,
    start,
    stop,
    forget: () => rmSync(join(folder, 'mosquitto.db'), { force: true }),
    setRules(lines) {
      writeRules(lines)
      child?.kill('SIGHUP')
    },
    async save() {
      const file = join(folder, 'mosquitto.db')
      const before = existsSync(file) ? statSync(file).mtimeMs : 0
      child?.kill('SIGUSR1')
      while (!existsSync(file) || statSync(file).mtimeMs === before) await new Promise((next) => setTimeout(next, 10))
    },
    async dispose() {
      await stop('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Every client may change the rules. */
const withoutSubscriptions = {
  defaultACLAccess: { publishClientSend: true, publishClientReceive: true, subscribe: false, unsubscribe: true },
  anonymousGroup: 'all',
  groups: [{ groupname: 'all', roles: [{ rolename: 'operator' }] }],
  roles: [
    {
      rolename: 'operator',
      acls: [{ acltype: 'publishClientSend', topic: '$CONTROL/dynamic-security/#', allow: true }],
    },
  ],
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
