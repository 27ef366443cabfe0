/** Addresses of receivers carry signatures and tokens, so they are longer than an ID. The same limit holds wherever one is given. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Receiver, startReceiver } from '../support/systems/receiver.ts'

let server: RunningApp
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  server = await startApp({ env: { SINK_ALLOW: '127.0.0.1' } })
  const request = { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': 'p', 'cloud-region': 'east' }
  await send('PUT', '/v1/instance/i', { request, resources: [] })
})
afterAll(async () => {
  await server.stop()
  await receiver.close()
})

const send = async (method: string, path: string, body: object): Promise<number> => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) })
  await response.body?.cancel()
  return response.status
}
const mutate = async (name: string, input: object): Promise<string> => {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input!`
  const document = `mutation ($input: ${type}) { answer: ${name}(input: $input) { __typename } }`
  return (await server.query(document, { input })).answer.__typename
}
const urlOf = (length: number): string => `${receiver.url}/?sig=`.padEnd(length, 'a')

const rule = { name: 'many', metric: 'FAILED', threshold: 1 }
const given: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'a webhook': (url) => mutate('createWebhook', { name: 'w', url }),
  'an Alertmanager': (url) => mutate('createAlertmanager', { name: 'a', url }),
  'the runbook of a rule': (url) => mutate('saveAlertRule', { ...rule, runbookUrl: url }),
  'a callback': (url) => send('POST', '/v1/instance/i/status/subscription', { name: 's', 'callback-url': url }),
}

it.each(Object.entries(given))('%s has up to 2,048 characters', async (_, give) => {
  expect([422, 'InvalidInput']).toContain(await give(urlOf(2_049)))
  expect([422, 'InvalidInput']).not.toContain(await give(urlOf(2_048)))
})

it('an address of a receiver must not be empty', async () => {
  for (const name of ['createWebhook', 'createAlertmanager'])
    expect(await mutate(name, { name: 'empty', url: '' })).toBe('InvalidInput')
})

it('a receiver is called at the whole address', async () => {
  const [first] = await receiver.until((all) => all.some(({ path }) => path.startsWith('/?sig=')))
  expect(receiver.url + (first?.path ?? '')).toBe(urlOf(2_048))
})

it('an Alertmanager takes the token of an identity provider', async () => {
  const authorization = (length: number) => 'Bearer '.padEnd(length, 'a')
  const alertmanager = { name: 'b', url: receiver.url }
  expect(await mutate('createAlertmanager', { ...alertmanager, authorization: authorization(8_193) })).toBe(
    'InvalidInput',
  )
  expect(await mutate('createAlertmanager', { ...alertmanager, authorization: authorization(8_192) })).toBe(
    'CreateAlertmanagerSuccess',
  )
})
