/** Without MQTT_URL nothing of MQTT is loaded. */
import { describe, expect, it } from 'vitest'
import { startChild } from '../support/child.ts'

/** Prints the loaded modules of MQTT after a server with this environment has started. */
const script = `
  const { createRequire, registerHooks } = await import('node:module')
  const loaded = new Set()
  registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context) } })
  const { parseConfig } = await import('./src/config.ts')
  const { createApp } = await import('./src/app.ts')
  const { createLog } = await import('./src/log.ts')
  const { openDatabase } = await import('./src/store/open.ts')
  const config = parseConfig({ PORT: '0', GIT: 'off', DATA_DIR: 'memory', ...JSON.parse(process.env.GIVEN) })
  const app = await createApp({ config, database: await openDatabase(config.store), log: createLog({ level: 'silent' }) })
  const files = [...loaded, ...Object.keys(createRequire(import.meta.url).cache)]
  console.log('loaded', JSON.stringify(files.filter((file) => /node_modules\\/mqtt|src\\/mqtt\\//.test(file)).map((file) => file.split('/').slice(-3).join('/'))))
  await app.close()
  process.exit(0)
`

async function loadedWith(given: Record<string, string>): Promise<string[]> {
  const child = startChild(script, { GIVEN: JSON.stringify(given) })
  return JSON.parse((await child.said(/^loaded /)).slice('loaded '.length))
}

describe('a server', () => {
  it('loads nothing of MQTT without MQTT_URL', async () => {
    expect(await loadedWith({})).toEqual([])
  })

  it('loads MQTT with MQTT_URL', async () => {
    const loaded = await loadedWith({ MQTT_URL: 'mqtt://127.0.0.1:1' })
    expect(loaded.some((file) => file.endsWith('src/mqtt/mqtt.ts'))).toBe(true)
    expect(loaded.some((file) => file.includes('mqtt/build/'))).toBe(true)
  })
})
