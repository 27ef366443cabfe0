/** Messages to the topics of devices: right and wrong topics, bodies and properties, retained junk, births and wills. */
import { randomBody } from '../bodies.ts'
import type { Random } from '../random.ts'
import { validBody } from '../valid-bodies.ts'

export interface MqttInput {
  readonly kind: 'mqtt'
  readonly caller: 'admin'
  /** `will`: a connection of its own that ends without a farewell. `rude`: a connection of its own, which the broker may end. */
  readonly way: 'publish' | 'rude' | 'will'
  /** Who sends it, whatever its topic is. */
  readonly device: string
  /** Of the device in its topic, which may be another one: the server answers only below it. */
  readonly level: string
  readonly topic: string
  readonly payload: Buffer
  readonly qos: 0 | 1
  readonly retain: boolean
  readonly contentType: string | undefined
  readonly userProperties: Readonly<Record<string, string | string[]>>
  /** Null: one where the attacker waits for the answer. */
  readonly responseTopic: string | null
}

const prefix = 'rollcall'
/** Several: messages of one device are taken one after another. */
export const messageDevices = Array.from({ length: 12 }, (_, n) => `m-${n}`)
/** Levels that the broker delivers. */
const levels = [
  'edge-1',
  'gw%2Fchild',
  'gw',
  '%00',
  '%ef%bb%bfedge-1',
  '%2',
  'present',
  'changes',
  '',
  '.',
  '😀',
  'x'.repeat(300),
]
const rudeTopics = [
  ...[`${prefix}/+/connection`, `${prefix}/m-7/#`, `${prefix}/m-7/deployments/a\0b/status`, '', '/', '$SYS/broker'],
  ...[`$share/rollcall/${prefix}/m-7/connection`, `${prefix}/${'a/'.repeat(150)}status`, 'x'.repeat(60_000)],
]
const published = ['present/revision', 'present/deployments/d-1/x', 'present/rollouts/1', 'changes/d-1', 'responses']
const answers = [
  ...[`${prefix}/edge-1/responses`, `${prefix}/m-7/deployments/d-1/status`, `${prefix}/present/revision`, 'x'],
  ...[`${prefix}/m-7/responses/../../present`, `${prefix}/m-7/responses/${'x'.repeat(2_000)}`],
]
const types = ['application/json', 'application/yaml', 'application/json; charset=utf-8', 'application/x+json']
const wrongTypes = ['text/plain', '', 'application/json; charset=utf-16', '\u00ff']
const names = [
  'content-type',
  'Authorization',
  'signature-input',
  'signature',
  'content-digest',
  'traceparent',
  'observedAt',
]
const objectNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '']
const values = ['', 'x', 'Bearer x', '2026-01-01T00:00:00Z', '9'.repeat(400), 'sig=("@method");created=1', '\ufffd']

export function randomMessage(random: Random): MqttInput {
  const way = random.chance(3) ? 'rude' : random.chance(12) ? 'will' : 'publish'
  const isOwn = random.chance(90)
  const device = random.choose(messageDevices)
  const level = isOwn ? device : random.choose(levels)
  const deployment = random.chance(90) ? `${device}-${random.below(50)}` : random.choose(levels)
  const isConnection = way === 'will' || random.chance(15)
  const topic =
    way === 'rude'
      ? random.choose(rudeTopics)
      : random.chance(3)
        ? `${prefix}/${random.choose(published)}`
        : `${prefix}/${level}/${isConnection ? 'connection' : `deployments/${deployment}/status`}`
  return {
    ...{ kind: 'mqtt', caller: 'admin', way, device, level, topic },
    payload: isConnection ? connection(random) : report(random, deployment),
    qos: random.chance(90) ? 1 : 0,
    retain: random.chance(10),
    contentType: random.chance(70) ? undefined : random.choose(random.chance(80) ? types : wrongTypes),
    userProperties: properties(random),
    responseTopic: random.chance(95) ? null : random.choose(answers),
  }
}

function connection(random: Random): Buffer {
  return Buffer.from(random.choose(['online', 'offline', ' ONLINE\n', '', 'online\0', '{}', 'x'.repeat(100_000)]))
}

function report(random: Random, deployment: string): Buffer {
  const valid = random.chance(60) ? validBody(random, `/deployment/${deployment}/status`) : null
  return valid === null ? randomBody(random, 'margo').bytes : Buffer.from(JSON.stringify(valid))
}

/** Names of headers, of what every object has, many values of one name, and many names that differ in case only. */
function properties(random: Random): Record<string, string | string[]> {
  const made = Object.create(null) as Record<string, string | string[]>
  if (random.chance(60)) return made
  if (random.chance(3)) {
    const bits = random.choose([6, 12])
    for (let n = 0; n < 2 ** bits; n += 1)
      made[[...'abcdefghijkl'].map((c, at) => (n & (1 << at) ? c.toUpperCase() : c)).join('')] = 'x'
  }
  for (let n = random.choose([1, 1, 2, 5]); n > 0; n -= 1) {
    const name = random.choose(random.chance(70) ? names : objectNames)
    const isMany = random.chance(10)
    made[name] = isMany
      ? Array.from({ length: random.choose([2, 2_000]) }, () => random.choose(values))
      : random.choose(values)
  }
  return made
}
