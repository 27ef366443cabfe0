/** Subscribers to a retirement receive only the devices in their access scope. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'
import { registerDocument, retireDocument } from '../retirement.ts'

describe.each(transports)('a retirement over $name', (transport) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ graphql: { auth: namedAuth } })
  })
  afterAll(() => api.close())

  it('is sent to callers that see the device; only callers that see the replacement get it', async () => {
    const devices = ['munich', 'oslo'].map((site) => ({ deviceId: site, labels: [{ key: 'site', value: site }] }))
    await api.ask(registerDocument, { input: { devices } })
    const document = `subscription ($after: Revision) { changes(after: $after, filter: { kinds: [DEVICE_RETIRED] }) { change { ... on DeviceRetired {
      reason device { deviceId retirement { replacedBy { deviceId } } } replacedBy { deviceId } } } } }`
    const { revision } = await api.ask('{ revision }')
    const stream = transport.watch(api.url, document, { after: revision }, 'viewer/label:site=munich')
    const input = { devices: [{ deviceId: 'munich', replacedBy: 'oslo' }], reason: 'moved north' }
    await api.ask(retireDocument, { input })
    const device = { deviceId: 'munich', retirement: { replacedBy: null } }
    expect((await stream.data()).changes).toEqual({ change: { reason: 'moved north', device, replacedBy: null } })
    await stream.close()
    const refused = 'mutation ($input: RetireDevicesInput!) { retireDevices(input: $input) { __typename } }'
    for (const as of ['viewer', 'operator/label:site=munich'])
      expect((await api.ask(refused, { input }, as)).retireDevices.__typename).toBe('Forbidden')
  })
})
