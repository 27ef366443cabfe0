/** One attack on one server: so many inputs by so many connections, and what was seen of the server meanwhile. */
import { findMosquitto, startMosquitto } from '../../support/systems/mosquitto.ts'
import { createCredentials } from './credentials.ts'
import { startHostileIssuer } from './hostile-issuer.ts'
import { describe, hidden, type Input, randomInput } from './inputs.ts'
import { busyWith, isFailure, isHandled, isInside } from './judgement.ts'
import { kindOf } from './kinds.ts'
import { createLongReads } from './long-reads.ts'
import type { Stall } from './monitor.ts'
import { createMqttSender, type MqttSender } from './mqtt/sender.ts'
import { createRandom } from './random.ts'
import { createSender, lost, type Sent } from './sender.ts'
import { hasChangedSink } from './sink-operations.ts'
import { startTarget } from './target.ts'
import { fillCaches } from './warm-up.ts'

interface AttackOptions {
  readonly seed: number
  readonly inputs: number
  /** Milliseconds after which it ends, however many inputs were sent. */
  readonly time: number
  readonly connections?: number
  /** Whether some of the inputs come by MQTT, where there is a broker. */
  readonly hasMqtt?: boolean
  /** Of the server: its database, and who may do what. */
  readonly env: Readonly<Record<string, string>>
  /** Called every few seconds. */
  readonly progress?: (found: Findings) => void
}

interface SeenStall extends Stall {
  /** What was being answered: one of them, or work that no answer waits for, is the cause. */
  readonly inFlight: readonly string[]
}

export interface Findings {
  readonly sent: number
  readonly handled: number
  readonly byStatus: Readonly<Record<string, number>>
  /** By the part of the server that answers. `time`: milliseconds until the answers, together. */
  readonly byKind: Readonly<Record<string, { readonly sent: number; readonly handled: number; readonly time: number }>>
  /** Refusals of a server without time, by the limit, with one of their inputs. */
  readonly busy: Readonly<Record<string, { readonly times: number; readonly input: string }>>
  /** What should never be: the number of the input, the answer, the input; and what was logged as an error. */
  readonly failures: readonly string[]
  /** The longest first, by the time in which the server's main thread ran. */
  readonly stalls: readonly SeenStall[]
  /** Bytes, after collecting garbage: once warm, and at the end. */
  readonly warm: Memory
  readonly end: Memory
  /** Bytes, after collecting garbage, every 50,000 inputs: whether memory grows with what is sent, or has filled its caches. */
  readonly samples: readonly Memory[]
  /** Bytes, without collecting garbage. */
  readonly last: Memory
  readonly mostRss: number
  readonly rejections: number
  /** How often the server ended before it was stopped. */
  readonly exits: number
  readonly drift: readonly unknown[]
  /** Milliseconds of processor time: of the server's main thread, of all its threads, and of the attacker. */
  readonly cpu: { readonly main: number; readonly server: number; readonly attacker: number }
}

interface Memory {
  readonly rss: number
  readonly heap: number
  readonly external: number
}

const nothing: Memory = { rss: 0, heap: 0, external: 0 }
const ignore = (): void => undefined
const toldStalls = 5
/** Inputs between two measurements of what is live. */
const sampled = 50_000
/** Inputs above which the memory is measured. */
const measured = 10_000
/** Milliseconds for which an answered input may still be the cause of a stall. */
const recent = 100

export async function attack(options: AttackOptions): Promise<Findings> {
  const { seed, inputs, connections = 24, hasMqtt = false, env } = options
  const failures: string[] = []
  const byStatus: Record<string, number> = {}
  const byKind: Record<string, { sent: number; handled: number; time: number }> = {}
  const busy: Record<string, { times: number; input: string }> = {}
  const cpu = { main: 0, server: 0, attacker: 0 }
  const cpuBefore = process.cpuUsage()
  const inFlight = new Map<number, { readonly input: Input; readonly start: number; end: number }>()
  let stalls: SeenStall[] = []
  let [sent, handled, mostRss, rejections] = [0, 0, 0, 0]
  let [warm, last, end] = [nothing, nothing, nothing]
  const samples: Memory[] = []
  let drift: readonly unknown[] = []

  const broker = hasMqtt && findMosquitto() !== null ? await startMosquitto() : null
  const issuer = env.API_AUTH === undefined ? null : await startHostileIssuer()
  const ofBroker = broker && { MQTT_URL: broker.url, MQTT_PUBLISH: 'all' }
  const target = await startTarget({ ...env, ...issuer?.env, ...ofBroker }, (stall) => {
    if (sent === 0) return
    const begin = stall.end - stall.time
    const suspects = [...inFlight.values()].filter((one) => one.start < stall.end && one.end > begin)
    const seen = { ...stall, inFlight: suspects.map(({ input }) => describe(input, 160)) }
    stalls = [...stalls, seen].toSorted((a, b) => b.cpu - a.cpu).slice(0, toldStalls)
  })
  const sender = createSender(target.url, connections, issuer)
  const random = createRandom(seed)
  const longReads = createLongReads()
  let messages: MqttSender | null = null
  const until = performance.now() + options.time
  // Until then the caches of changes and of statements fill.
  const warmAt = Math.min(inputs / 5, 3 * sampled)

  async function look(question?: 'collect'): Promise<Memory> {
    const vitals = await target.vitals(question)
    mostRss = Math.max(mostRss, vitals.rss)
    last = vitals
    rejections = vitals.rejections
    const { user, system } = process.cpuUsage(cpuBefore)
    Object.assign(cpu, { main: vitals.cpu, server: vitals.processCpu, attacker: (user + system) / 1_000 })
    return vitals
  }
  async function send(input: Input, token: string | null): Promise<Sent> {
    if (input.kind === 'mqtt') return (await messages?.send(input, token)) ?? lost
    const isLong = input.kind === 'rest' && input.path.startsWith('/export/')
    const end = isLong ? longReads.begin() : null
    return sender.send(input, token, isLong && end === null).finally(() => end?.())
  }
  async function work(credentials: Awaited<ReturnType<typeof createCredentials>>): Promise<void> {
    while (sent < inputs && performance.now() < until && target.end() === null) {
      sent += 1
      const number = sent
      if (number === warmAt || number % sampled === 0)
        look('collect').then((memory) => {
          if (number === warmAt) warm = memory
          if (number % sampled === 0) samples.push(memory)
        }, ignore)

      const input = randomInput(random, messages !== null)
      const token = random.chance(95) ? credentials.of(input) : null
      const record = { input, start: Date.now(), end: Number.POSITIVE_INFINITY }
      inFlight.set(number, record)
      const answer = await send(input, token)
      record.end = Date.now()
      setTimeout(() => inFlight.delete(number), recent)
      byStatus[answer.status] = (byStatus[answer.status] ?? 0) + 1
      const kind = kindOf(input)
      byKind[kind] ??= { sent: 0, handled: 0, time: 0 }
      byKind[kind].sent += 1
      byKind[kind].time += record.end - record.start
      if (isHandled(answer)) {
        handled += 1
        byKind[kind].handled += 1
      }
      if (answer.text.includes('has been revoked: register it anew')) await credentials.renew()
      const limit = busyWith(answer)
      if (limit !== null) {
        busy[limit] ??= { times: 0, input: describe(input, 900) }
        busy[limit].times += 1
      }
      const isLeak = credentials.isScoped(input) && (answer.text.includes(hidden) || hasChangedSink(answer.text))
      if ((isFailure(answer) || isInside(answer) || isLeak) && failures.length < 50)
        failures.push(`input ${number}: ${answer.status} ${answer.text.slice(0, 300)} ← ${describe(input, 900)}`)
    }
  }
  const found = (): Findings => {
    const exits = target.end() === null ? 0 : 1
    const counts = { exits, sent, handled, byStatus, byKind, busy, failures, stalls, rejections, drift, cpu }
    return { ...counts, warm, last, end, samples, mostRss }
  }

  let watch: NodeJS.Timeout | undefined
  try {
    const credentials = await createCredentials(target.url, env)
    if (broker) messages = await createMqttSender(broker.url)
    if (inputs > measured) await fillCaches(target.url, credentials.ofAdmin)
    watch = setInterval(() => {
      look().catch(ignore)
      options.progress?.(found())
    }, 2_000)
    await Promise.all(Array.from({ length: connections }, () => work(credentials)))
    if (target.end() === null) {
      sender.close()
      drift = await credentials.audit()
      end = await look('collect')
    }
    if (target.end() !== null) failures.push(`after input ${sent}: ${target.end()}`)
    failures.push(...target.errors().map((line) => `logged: ${line.slice(0, 600)}`))
    return found()
  } finally {
    clearInterval(watch)
    sender.close()
    await messages?.close()
    await target.stop()
    await Promise.all([issuer?.stop(), broker?.dispose()])
  }
}
