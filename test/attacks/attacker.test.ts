/** The permanent attacker, for a moment: `npm run attack` is the long one. Its seed is fixed, so it finds the same each time. */
import { describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { casesOf, isWhole, runs, someOf } from '../support/runner/depth.ts'
import { childEnvironment } from '../support/servers/child.ts'
import { findMosquitto } from '../support/systems/mosquitto.ts'
import { attack } from './attacker/attack.ts'
import { closed } from './attacker/credentials.ts'
import { randomInput } from './attacker/inputs.ts'
import { createRandom } from './attacker/random.ts'

const inputs = runs(someOf(30, 150), 2_000)
const hasBroker = findMosquitto() !== null

describe.each(stores)('on $name', (store) => {
  it.each(
    casesOf(1, [
      ['open', {}],
      ['with keys, tokens and rates', closed],
    ]),
  )('nothing that is sent brings down a server that is %s', async (_, env) => {
    const empty = await store.create()
    const { url, dataDir } = empty.config
    const database: Record<string, string> = url === null ? { DATA_DIR: dataDir } : { DATABASE_URL: url }
    const all = { ...childEnvironment(), ...database, ...env }
    try {
      const found = await attack({ seed: 20_260_101, inputs, time: Infinity, hasMqtt: true, env: all })
      expect(found.failures).toEqual([])
      expect(found.rejections).toBe(0)
      expect(found.drift).toEqual([])
      expect(found.sent).toBe(inputs)
      // Otherwise only the door was tested.
      expect(found.handled).toBeGreaterThan(inputs / 2)
      // A device that has offboarded itself is registered anew: otherwise nearly all of its requests would be 403.
      const { sent = 0, handled = 0 } = found.byKind['a report'] ?? {}
      expect(handled).toBeGreaterThan(sent / 2)
      const messages = found.byKind.MQTT ?? { sent: 0, handled: 0 }
      if (hasBroker) expect(messages.handled).toBeGreaterThan(messages.sent / 2)
    } finally {
      await empty.drop()
    }
  })
})

it.runIf(isWhole)('its bodies stay small enough to send thousands of them', () => {
  const random = createRandom(99)
  const sizes = Array.from({ length: 10_000 }, () => {
    const input = randomInput(random)
    return input.kind === 'rest' ? (input.body?.length ?? 0) : 0
  })
  expect(Math.max(...sizes)).toBeLessThan(3_000_000)
})
