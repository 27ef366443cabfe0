/** The AsyncAPI document: it is current, valid, and served. What is on the wire is held against it by the clients of other tests (test/support/asyncapi.ts). */
import { Parser } from '@asyncapi/parser'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { makeContracts } from '../../src/api/rest/contract/document.ts'
import { topicOf, topics } from '../../src/api/rest/contract/topics.ts'
import { channelOf, undescribed } from '../support/asyncapi.ts'
import { readPage } from '../support/documentation.ts'
import { startApp } from '../support/servers/app.ts'

const text = readPage('docs/asyncapi.yaml')
const document = parse(text)

describe('docs/asyncapi.yaml', () => {
  it('is current (otherwise: npm run openapi)', async () => {
    expect((await makeContracts()).get('/asyncapi.yaml')).toBe(text)
  })

  it('is valid, by the parser of AsyncAPI, without a remark', async () => {
    const { diagnostics, document: found } = await new Parser().parse(text)
    expect(diagnostics.map(({ message, path }) => [message, path])).toEqual([])
    const operations = found ? [...found.operations()] : []
    expect(operations.filter((one) => one.isReceive()).map((one) => one.id())).toEqual([
      ...[
        'receive-report',
        'receive-connection',
        'receive-graphqlSocket',
        'receive-graphqlEvents',
        'receive-graphqlParts',
      ],
    ])
    expect(
      operations
        .find((one) => one.id() === 'receive-report')
        ?.reply()
        ?.channel()
        ?.id(),
    ).toBe('answer')
    const { diagnostics: wrong } = await new Parser().parse(text.replace('action: receive', 'action: take'))
    expect(wrong.length).toBeGreaterThan(0)
  })

  it('has each topic, and tells them apart', () => {
    const levels = { deviceId: 'edge%2F1', deploymentId: 'pump', id: 'a', kind: 'deployment-moved' }
    for (const name of Object.keys(topics) as (keyof typeof topics)[]) {
      expect(document.channels[name].address).toBe(topicOf('{prefix}', name, same))
      const found = channelOf(topicOf('rollcall', name, levels))
      expect([name, found]).toEqual([name, name === 'reset' ? 'change' : name])
    }
  })

  it('is what messages are held against: one with a member too many, too few, or of another type is none of it', () => {
    const acknowledgement = { acknowledgement: 'received', verdict: 'APPLIED', revision: '1' }
    const { verdict, ...less } = acknowledgement
    const check = (payload: object, contentType?: string) =>
      undescribed('answer', 'acknowledgement', { payload, contentType }) === null
    expect(check(acknowledgement, 'application/json; charset=utf-8')).toBe(true)
    expect(
      [less, { ...acknowledgement, more: 1 }, { ...acknowledgement, verdict: 'LOST' }].filter((one) => check(one)),
    ).toEqual([])
    expect(check(acknowledgement, 'text/plain')).toBe(false)
  })
})

/** The names of levels, as they are. */
const same = { deviceId: '{deviceId}', deploymentId: '{deploymentId}', id: '{id}', kind: '{kind}' }

it('a server has it, once to a client, to anyone', async () => {
  const server = await startApp()
  const answer = await fetch(`${server.url}/asyncapi.json`)
  expect(await answer.json()).toEqual(document)
  expect(await (await fetch(`${server.url}/asyncapi.yaml`)).text()).toBe(text)
  const headers = { 'if-none-match': answer.headers.get('etag') ?? '' }
  expect((await fetch(`${server.url}/asyncapi.json`, { headers })).status).toBe(304)
  await server.stop()
})
