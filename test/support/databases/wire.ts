/** PostgreSQL behind a wire that a test watches statement by statement, and can cut or leave hanging at any of them. */
import { createServer, type Socket, connect as tcp } from 'node:net'

export interface Passing {
  readonly statement: string
  /** About to reach the server, or done by the server and about to reach the client. */
  readonly moment: 'asked' | 'answered'
}

/**
 * `cut`: it goes no further, and the connection is over. `deafen`: it passes, and nothing more is read of what the server says. `silence`: it goes no
 * further, nor does anything else on this connection, which stays open. `withhold`: neither it nor anything later of the client reaches the server.
 */
type Fate = 'pass' | 'cut' | 'deafen' | 'silence' | 'withhold'

export interface Wire {
  readonly url: string
  watch(decide: (passing: Passing) => Fate): void
  /** Every connection there is. */
  cut(): void
  /** Every connection there is falls silent, and so do new ones until `recover`. */
  fall(): void
  recover(): void
  /** New connections lead to that server. */
  redirect(serverUrl: string): void
  close(): Promise<void>
}

export async function startWire(serverUrl: string): Promise<Wire> {
  let target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let decide: (passing: Passing) => Fate = () => 'pass'
  let isFallen = false

  const server = createServer((client) => {
    const upstream = tcp(Number(target.port || 5432), target.hostname)
    const texts = new Map<string, string>()
    let isSilent = false
    let isWithheld = false
    /** Bound next, and those that are not answered yet: the client may send one before the answer to another. */
    let bound = ''
    const asked: string[] = []
    const cut = (): void => {
      client.destroy()
      upstream.destroy()
    }
    if (isFallen) client.pause()
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    const pass = (to: Socket, frame: Buffer, moment: Passing['moment'], statement: string): void => {
      if (isSilent || (isWithheld && moment === 'asked')) return
      const fate = decide({ statement, moment })
      if (fate === 'deafen') upstream.removeAllListeners('data').pause()
      if (fate === 'withhold') isWithheld = true
      else if (fate === 'cut') cut()
      else if (fate === 'silence') {
        isSilent = true
        silence([client, upstream])
      } else to.write(frame)
    }
    if (isFallen) return
    client.on(
      'data',
      framesOf('startup', (type, frame) => {
        const [first = '', second = ''] = frame.subarray(5).toString('utf8').split('\0')
        if (type === 'P') texts.set(first, second)
        if (type === 'B') bound = texts.get(second) ?? ''
        if (type === 'Q') bound = first
        if (type === 'E' || type === 'Q') {
          asked.push(bound)
          pass(upstream, frame, 'asked', bound)
        } else if (!isSilent && !isWithheld) upstream.write(frame)
      }),
    )
    upstream.on(
      'data',
      framesOf('typed', (type, frame) => {
        // CommandComplete: of a COMMIT, that it is done for good.
        if (type === 'C') pass(client, frame, 'answered', asked[0] ?? '')
        else if (!isSilent) client.write(frame)
        // ReadyForQuery: the server goes on to the next.
        if (type === 'Z') asked.shift()
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const silence = (some: Iterable<Socket>): void => {
    for (const socket of some) socket.removeAllListeners('data').pause()
  }
  const address = server.address()
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(typeof address === 'object' && address ? address.port : 0)
  return {
    url: url.href,
    watch(next) {
      decide = next
    },
    cut,
    fall() {
      isFallen = true
      silence(sockets)
    },
    recover() {
      isFallen = false
    },
    redirect(nextUrl) {
      target = new URL(nextUrl)
    },
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A batch in one statement commits with it. */
export function isOptimistic({ statement }: Passing): boolean {
  return isOptimisticText(statement)
}

export function isOptimisticText(statement: string): boolean {
  return statement.startsWith('with head as (update log_head')
}

/** The second statement of a batch in one statement, after which other servers learn of their commands in it. */
export function isNotice({ statement }: Passing): boolean {
  return statement.startsWith('select case when $3::text is not null then pg_notify')
}

/** Of the writer's transactions alone: snapshots commit too. */
export function writersCommit(): (passing: Passing) => boolean {
  let isWriting = false
  return (passing) => {
    const { statement, moment } = passing
    if (isOptimistic(passing)) return true
    if (statement.includes('for update')) isWriting = true
    if (!isWriting || statement !== 'commit') return false
    if (moment === 'answered') isWriting = false
    return true
  }
}

/** A byte of type, four of length; only a client's first message has no type. */
function framesOf(first: 'startup' | 'typed', take: (type: string, frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let header = first === 'startup' ? 0 : 1
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= header + 4) {
      const length = header + rest.readInt32BE(header)
      if (rest.length < length) return
      const frame = rest.subarray(0, length)
      rest = rest.subarray(length)
      const type = header === 0 ? '' : String.fromCharCode(frame[0] ?? 0)
      header = 1
      take(type, frame)
    }
  }
}
