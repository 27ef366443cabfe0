/** Ten thousand devices, a thousand components and messages of 65,000 characters: what an answer has, and how long it stops everything else. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { usualBytes } from '../../src/api/mcp/answer.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { jsonYardstick, ownStall } from '../support/stall.ts'
import { type Called, call, connect, declare } from './harness.ts'

const numbers = Array.from({ length: 10_000 }, (_, number) => number)
/** Each is another cause of failures. Three bytes a character. */
const messageOf = (number: number): string => `${number} ${'本'.repeat(number < 100 ? 65_000 : 200)}`

let server: RunningApp
let client: Client
let begun = ''
beforeAll(async () => {
  server = await startApp()
  begun = (await server.query('{ history { newestTime } }')).history.newestTime
  await declare(
    server,
    'large',
    numbers.map((number) => ({ deploymentId: `d-${number}`, deviceId: `edge-${number}`, application: 'pump' })),
  )
  const reports = numbers.map((number) => ({
    ...{ deviceId: `edge-${number}`, deploymentId: `d-${number}`, components: [] },
    status: { state: 'failed', error: { code: `E${number}`, message: messageOf(number) } },
  }))
  expect((await server.post('/reports', { reports })).status).toBe(200)
  const components = numbers.slice(0, 1_000).map((number) => ({
    ...{ name: `part-${number}`, state: 'failed', error: { code: `C${number}`, message: '本'.repeat(300) } },
  }))
  const wide = { deploymentId: 'wide', status: { state: 'failed' }, components }
  expect((await server.post('/device/edge-0/deployment/wide/status', wide)).status).toBe(201)
  client = await connect(server)
  // What the first call loads is no stall of the others.
  await call(client, 'search', { text: 'none' })
})
afterAll(async () => {
  await client.close()
  await server.stop()
})

const most = 8 * jsonYardstick(1 << 20)

it.each<readonly [tool: string, given: Record<string, unknown>, leftOut: string | null]>([
  ['what_is_wrong', {}, 'causes'],
  ['rollout', { rollout: 'large' }, 'causes'],
  ['deployment', { deployment: 'd-0' }, null],
  ['deployment', { deployment: 'wide' }, 'components'],
  ['device', { device: 'edge-0' }, 'history'],
  ['search', { text: 'd-' }, 'results'],
  ['changes_between', {}, 'changes'],
  ['state_at', {}, 'causes'],
  ['wait_for_rollout', { rollout: 'large' }, 'failures'],
])('%s of %o is short, says what it left out, and stops nothing else', async (tool, given, leftOut) => {
  const now = (await server.query('{ history { newestTime } }')).history.newestTime
  const moment = { ...(tool === 'changes_between' && { from: begun }), ...(tool === 'state_at' && { at: now }) }
  for (const limit of [5, 50]) {
    const answers: Called[] = []
    const stall = await ownStall(most, async () => {
      answers.push(await call(client, tool, { ...given, ...moment, limit }))
    })
    expect(stall).toBeLessThan(most)
    for (const { text, facts, bytes } of answers) {
      expect(text).toContain('As of revision')
      expect(bytes).toBeLessThanOrEqual(usualBytes * (limit / 5))
      expect(facts.omitted.map(({ what }: { what: string }) => what)).toEqual(
        leftOut === null ? [] : expect.arrayContaining([leftOut]),
      )
    }
  }
})
