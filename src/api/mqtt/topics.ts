/**
 * Reads the topics that devices publish to (api/rest/contract/topics.ts). An ID is one level, so the characters that a level cannot have are
 * percent-encoded, and no others. Each ID has exactly one form. With a second form, a broker's topic rule for the user `edge%2D1` would admit reports of `edge-1`.
 */
import { complain, type Problems, refusal, shown } from '../../platform/body/problems.ts'
import { readId } from '../../platform/body/text.ts'
import { topicOf, topics } from '../rest/contract/topics.ts'

/** The server publishes below these levels, so no device can have these names. */
const reserved: ReadonlySet<string> = new Set(['present', 'changes'])

/** Brokers refuse control characters and noncharacters in topics. */
const encoded = /[%/+#\p{Cc}\p{Noncharacter_Code_Point}]/gu

/** In the topic of an answer. */
const unusable = /[+#\p{Cc}\p{Noncharacter_Code_Point}]/u

/** `/` becomes %2F, and so on. */
export function encodeLevel(id: string): string {
  return id.replace(encoded, encodeURIComponent)
}

export interface Subject {
  readonly kind: 'report' | 'connection'
  /** The levels as they were sent. */
  readonly device: string
  readonly deployment: string
}

const kinds = (['report', 'connection'] as const).map((kind) => ({
  kind,
  pattern: new RegExp(`^${topics[kind].replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]*)')}$`, 'su'),
}))

/** Null: the topic is not one that devices publish to. */
export function subjectOf(prefix: string, topic: string): Subject | null {
  if (!topic.startsWith(`${prefix}/`)) return null
  const levels = topic.slice(prefix.length + 1)
  for (const { kind, pattern } of kinds) {
    const { groups } = pattern.exec(levels) ?? {}
    if (groups) return { kind, device: groups.deviceId ?? '', deployment: groups.deploymentId ?? '' }
  }
  return null
}

/** The filters of a session. */
export function filtersOf(prefix: string, group: string): string[] {
  const any = { deviceId: '+', deploymentId: '+' }
  return kinds.map(({ kind }) => `$share/${group}/${topicOf(prefix, kind, any)}`)
}

/** Throws SEMANTIC_ERROR that names each level that is not an ID. */
export function readSubject({ kind, device, deployment }: Subject): {
  readonly deviceId: string
  readonly deploymentId: string
} {
  const problems: Problems = { list: null }
  const deviceId = readLevel(problems, 'deviceId', device) ?? ''
  const deploymentId = kind === 'report' ? (readLevel(problems, 'deploymentId', deployment) ?? '') : ''
  if (reserved.has(deviceId)) complain(problems, 'deviceId', `must not be ${deviceId}: the server publishes there`)
  if (problems.list !== null) throw refusal(problems.list, 'The topic')
  return { deviceId, deploymentId }
}

function readLevel(problems: Problems, field: string, level: string): string | null {
  const id = decode(level)
  if (id !== null && encodeLevel(id) === level) return readId(problems, field, id)
  complain(problems, field, `must have only the characters % / + # percent-encoded (as %2F), but is ${shown(level)}`)
  return null
}

function decode(level: string): string | null {
  if (!level.includes('%')) return level
  try {
    return decodeURIComponent(level)
  } catch {
    return null
  }
}

/**
 * Levels of the topic of an answer below that of its device. Brokers end the connection of a client that publishes to a topic of too many levels:
 * Mosquitto above 200, EMQX above 128.
 */
const mostLevels = 8

/**
 * Whether an answer may be sent there. A device chooses the topic of its answers, and the server may publish anywhere. So the topic must be
 * below the device's own level of responses: otherwise a device could write to another device, to a status topic or over retained state.
 */
export function mayAnswer(prefix: string, { device }: Subject, topic: string): boolean {
  const own = topicOf(prefix, 'answer', { deviceId: device })
  if (topic !== own && !topic.startsWith(`${own}/`)) return false
  const below = topic.slice(own.length)
  return below.split('/').length - 1 <= mostLevels && !unusable.test(below) && Buffer.byteLength(topic) <= 1_024
}
