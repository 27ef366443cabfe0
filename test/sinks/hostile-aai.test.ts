/** An A&AI that answers more than it should: what this server reads, keeps and passes on of it is bounded. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { type Aai, createAai } from '../../src/outlets/sinks/aai.ts'
import { createAddressRule } from '../../src/outlets/sinks/address-rule.ts'
import { createSend, SendError } from '../../src/outlets/sinks/send.ts'
import { jsonYardstick, ownStall } from '../support/stall.ts'

async function answering(status: number, body: string | Buffer): Promise<Aai> {
  const server = createServer((_, response) => response.writeHead(status).end(body))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = { url, version: 24, user: null, password: null, applicationId: 'Rollcall' }
  const send = createSend(createAddressRule(['127.0.0.1']), 60_000)
  return createAai({ ...config, includeKinds: null, excludeKinds: [] }, send)
}

const objects = (bytes: number): Buffer => Buffer.from(`{"x":[${'{},'.repeat(bytes / 3)}{}]}`)

it.each([
  ['very many small objects', objects(15 << 20), /more than 600000 values/],
  ['a long text', Buffer.from(`{"x":"${'x'.repeat(15 << 20)}"}`), /a text of more than/],
  [
    'a long resource-version',
    JSON.stringify({ 'resource-version': '1'.repeat(1_000) }),
    /resource-version of more than/,
  ],
  ['white space', ' '.repeat(15 << 20), /not JSON/],
  ['lists in lists', '['.repeat(1 << 20) + ']'.repeat(1 << 20), /nested deeper/],
  ['more than is read', objects(17 << 20), /too long/],
])('%s in a node are refused in slices', async (_, body, why) => {
  const aai = await answering(200, body)
  let error: unknown
  // As long as printing and parsing some mebibytes of JSON at once.
  const most = 16 * jsonYardstick(1 << 20)
  const stall = await ownStall(most, async () => {
    error = await aai.read('/a').catch((cause: unknown) => cause)
  })
  expect(error).toBeInstanceOf(SendError)
  expect(String(error)).toMatch(why)
  expect(String(error).length).toBeLessThan(300)
  expect(stall).toBeLessThan(most)
})

it('a node with a relationship for each of many resources is read', async () => {
  const relationship = Array.from({ length: 20_000 }, (_, index) => ({
    'related-to': 'k8s-resource',
    'related-link': `/aai/v24/cloud-infrastructure/${index}/${'x'.repeat(200)}`,
    'relationship-data': [{ 'relationship-key': 'k8s-resource.id', 'relationship-value': String(index) }],
  }))
  const body = JSON.stringify({ 'resource-version': '7', 'relationship-list': { relationship } })
  expect(await (await answering(200, body)).read('/a')).toEqual({ version: '7', operationalStatus: null })
})

it('the code of a refusal is short, however long A&AI makes it', async () => {
  const body = JSON.stringify({ requestError: { serviceException: { messageId: `SVC${'3'.repeat(15 << 20)}` } } })
  const aai = await answering(500, body)
  const wanted = /^SendError: |^Error: A&AI answered 500 to .{1,30} \(SVC3{40}\)$/
  await expect(aai.read('/a').catch(String)).resolves.toMatch(wanted)
  await expect(aai.transact([]).catch(String)).resolves.toMatch(wanted)
})
