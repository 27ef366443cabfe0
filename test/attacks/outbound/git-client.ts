/** A device's Git client: it fetches the desired state of its device, or does what no client of Git does. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Random } from '../attacker/random.ts'
import type { Front } from './front.ts'

export interface GitClient extends Front {
  /** One fetch, good or hostile. A good one has the whole repository. */
  fetch(): Promise<void>
  /** What the last good fetch failed with. Null: it did not. */
  failure(): string | null
}

interface Visit {
  readonly random: Random
  /** Connects, and sends the beginning of a request. */
  begin(headers?: Readonly<Record<string, string | number>>, method?: string, path?: string): Socket
  /** Sends a whole request. */
  post(body: Buffer | string, headers?: Readonly<Record<string, string | number>>): Socket
}

const packet = (line: string): string => (line.length + 4).toString(16).padStart(4, '0') + line
/** Protocol 2: capabilities, the arguments, and the end. */
const command = (name: string, ...words: readonly string[]): string =>
  `${packet(`command=${name}\n`)}0001${words.map((word) => packet(`${word}\n`)).join('')}0000`
const many = (count: number, word: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => word(index))
const unknown = (index: number): string => index.toString(16).padStart(40, 'a')
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

const wants = command('fetch', ...many(70_000, (index) => `want ${unknown(index)}`))
const haves = command('fetch', `want ${unknown(0)}`, ...many(70_000, (index) => `have ${unknown(index)}`))
const prefixes = command('ls-refs', ...many(60_000, (index) => `ref-prefix refs/heads/${unknown(index)}`))
const shallows = command('fetch', ...many(70_000, (index) => `shallow ${unknown(index)}`), 'deepen 2147483647')
const old = `${many(70_000, (index) => packet(`want ${unknown(index)}\n`)).join('')}00000009done\n`
const filters = many(1_500, () => 'tree:1').join('+')
const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20, '0000'))
/** A packet has at least four bytes, its length is hexadecimal, and there are three special ones. */
const lies = [
  '0003',
  'ffff',
  '-001',
  'zzzz',
  '0001'.repeat(100_000),
  '0004'.repeat(500_000),
  '0002',
  '00',
  '0000'.repeat(9),
]
const options = [
  ...['deepen -1', 'deepen 99999999999999999999', 'deepen-since 99999999999999999999', 'deepen-not refs/heads/x'],
  ...[`filter combine:${filters}`, 'filter sparse:oid=main:x', 'filter blob:limit=99999999999999999999', 'want-ref ..'],
  ...['packfile-uris file', 'wait-for-done', 'include-tag', 'sideband-all', `${'x'.repeat(60_000)}`],
]

const acts: Readonly<Record<string, (visit: Visit) => void>> = {
  'unknown wants': ({ post }) => void post(wants),
  'unknown haves': ({ post }) => void post(haves),
  'many prefixes': ({ post }) => void post(prefixes),
  'many shallow commits': ({ post }) => void post(shallows),
  'wants of the old protocol': ({ post }) => void post(old, { 'git-protocol': 'version=1' }),
  'another protocol than it says': ({ post, random }) =>
    void post(random.choose([old.slice(0, 5_000), wants.slice(0, 5_000)]), {
      'git-protocol': random.choose(['version=0', 'x']),
    }),
  'odd lengths': ({ post, random }) =>
    void post(`${random.choose(['', packet('command=fetch\n')])}${random.choose(lies)}`),
  'odd options': ({ post, random }) =>
    void post(command('fetch', random.choose(options), `want ${unknown(1)}`, 'done')),
  'odd commands': ({ post, random }) =>
    void post(
      command(
        random.choose(['object-info', 'bundle-uri', 'x', '', 'fetch command=ls-refs']),
        'size',
        `oid ${unknown(1)}`,
      ),
    ),
  'odd bytes': ({ post }) => void post(randomBytes(100_000)),
  'a compressed body': ({ post }) => void post(bomb, { 'content-encoding': 'gzip' }),
  'an odd compression': ({ post, random }) =>
    void post(randomBytes(1_000), { 'content-encoding': random.choose(['gzip', 'br', 'gzip, gzip']) }),
  'odd headers': ({ post, random }) =>
    void post(command('ls-refs'), {
      'git-protocol': `${'version=2:'.repeat(random.choose([1, 1_000]))}version=99`,
      'user-agent': 'git/\u00ff',
    }),
  'another service': ({ begin }) => void begin({ 'content-length': 8 }, 'POST', '/git-receive-pack').write('00000000'),
  'a body without end'({ begin }) {
    const socket = begin({ 'transfer-encoding': 'chunked' })
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk(packet(`want ${unknown(0)}\n`).repeat(1_000))));
    }
    socket.on('drain', more)
    more()
  },
  drip({ begin }) {
    const socket = begin({ 'content-length': 1_000 })
    const timer = setInterval(() => socket.write('0'), 20)
    socket.once('close', () => clearInterval(timer))
  },
  'half of a request': ({ begin, random }) => {
    const socket = begin({ 'content-length': 1_000 })
    socket.write(command('ls-refs'))
    if (random.chance(50)) socket.end()
    else socket.resetAndDestroy()
  },
  'an answer that is not read': ({ begin }) => void begin({}, 'GET', '/info/refs?service=git-upload-pack').pause(),
  'an end while it is answered': ({ post }) => void setTimeout(() => post(command('ls-refs')).destroy(), 10),
}

export const gitFaultNames = Object.keys(acts)
/** Milliseconds for which a hostile client stays, and how many stay at once. */
const [patience, mostSockets] = [5_000, 20]

export function createGitClient(random: Random): GitClient {
  let mode = 'good'
  let asked = 0
  let url = new URL('http://x')
  let failed: string | null = null
  const sockets = new Set<Socket>()
  const headers = (): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`x:${url.password}`).toString('base64')}`,
    'git-protocol': 'version=2',
  })
  const type = { 'content-type': 'application/x-git-upload-pack-request' }

  const begin: Visit['begin'] = (more = {}, method = 'POST', path = '/git-upload-pack') => {
    asked += 1
    const socket = connect(Number(url.port), url.hostname)
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
    socket.resume().setTimeout(patience, () => socket.destroy())
    setTimeout(() => socket.destroy(), patience).unref()
    const all = Object.entries({ host: url.host, ...headers(), ...type, ...more })
    socket.write(
      `${method} ${url.pathname}${path} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
      'latin1',
    )
    return socket
  }
  const post: Visit['post'] = (body, more = {}) => {
    const socket = begin({ 'content-length': Buffer.byteLength(body), ...more })
    socket.write(body)
    return socket
  }

  async function send(method: string, path: string, body?: string): Promise<Buffer> {
    asked += 1
    const answer = await fetch(`${url.origin}${url.pathname}${path}`, {
      ...{ method, headers: { ...headers(), ...type }, signal: AbortSignal.timeout(4 * patience) },
      ...(body !== undefined && { body }),
    })
    const said = Buffer.from(await answer.arrayBuffer())
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${said.toString('latin1').slice(0, 200)}`)
    return said
  }

  async function fetchAll(): Promise<void> {
    await send('GET', '/info/refs?service=git-upload-pack')
    const refs = await send('POST', '/git-upload-pack', command('ls-refs'))
    const [newest = ''] = /[0-9a-f]{40}(?= refs)/.exec(refs.toString('latin1')) ?? []
    const pack = await send('POST', '/git-upload-pack', command('fetch', `want ${newest}`, 'done'))
    if (!pack.includes('PACK')) throw new Error(`no pack: ${pack.toString('latin1').slice(0, 200)}`)
  }

  return {
    url: '',
    get asked() {
      return asked
    },
    accepted: [],
    faults: gitFaultNames,
    failure: () => failed,
    async fetch() {
      if (mode !== 'good') {
        if (sockets.size < mostSockets)
          acts[mode === 'any' ? random.choose(gitFaultNames) : mode]?.({ random, begin, post })
        return
      }
      failed = await fetchAll().then(
        () => null,
        (error: unknown) => `the Git client: ${error}`,
      )
    },
    set(next) {
      mode = next
      for (const socket of sockets) socket.destroy()
    },
    lead(to) {
      url = new URL(to)
    },
    async stop() {
      this.set('good')
    },
  }
}
