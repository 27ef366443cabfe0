/** The variables of MQTT. */
import { z } from 'zod'
import type { MqttConfig } from '../../api/mqtt/connection.ts'
import { parseScopes } from '../../domain/access-scope.ts'
import { isOfServer } from './addresses.ts'
import { listOf, setting } from './values.ts'

/** The message does not quote the URL, which may hold a password. */
const brokerUrl = z.string().refine((text) => isOfServer(URL.parse(text), /^(mqtts?|wss?):$/), {
  error:
    'must be an mqtt, mqtts, ws or wss URL without a user and a password (MQTT_USER, MQTT_PASSWORD), and its host without a dot at the end',
})
const topicPrefix = setting('one or more levels of letters, digits, ".", "_" and "-", separated by "/"', (text) =>
  /^[\w.-]{1,64}(\/[\w.-]{1,64}){0,7}$/.test(text) ? text : null,
)
const name = setting('1 to 64 letters, digits, ".", "_" and "-"', (text) => (/^[\w.-]{1,64}$/.test(text) ? text : null))
const sessions = setting('a whole number from 1 to 64', (text) =>
  /^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= 64 ? Number(text) : null,
)
const published = setting('off, all, or access scopes such as label:site=berlin, separated by commas', (text) => {
  if (text === 'off') return { publish: null }
  const scope = text === 'all' ? null : parseScopes(listOf(text))
  return typeof scope === 'string' || (text !== 'all' && scope === null) ? null : { publish: { scope } }
})

export const mqttVariables = {
  MQTT_URL: brokerUrl.nullable().default(null),
  MQTT_USER: z.string().nullable().default(null),
  MQTT_PASSWORD: z.string().nullable().default(null),
  MQTT_CA: z.string().nullable().default(null),
  MQTT_CERT: z.string().nullable().default(null),
  MQTT_KEY: z.string().nullable().default(null),
  MQTT_CLIENT_ID: name.default('rollcall'),
  MQTT_GROUP: name.default('rollcall'),
  MQTT_PREFIX: topicPrefix.default('rollcall'),
  MQTT_SESSIONS: sessions.default(1),
  MQTT_PUBLISH: published.default({ publish: null }),
}

type Given = z.infer<z.ZodObject<typeof mqttVariables>>

export function mqttConfig(v: Given): MqttConfig | null {
  if (v.MQTT_URL === null) return null
  return {
    url: v.MQTT_URL,
    user: v.MQTT_USER,
    password: v.MQTT_PASSWORD,
    files: { ca: v.MQTT_CA, cert: v.MQTT_CERT, key: v.MQTT_KEY },
    clientId: v.MQTT_CLIENT_ID,
    group: v.MQTT_GROUP,
    prefix: v.MQTT_PREFIX,
    sessions: v.MQTT_SESSIONS,
    ...v.MQTT_PUBLISH,
  }
}
