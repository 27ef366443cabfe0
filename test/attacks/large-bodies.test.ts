/** The largest bodies that are taken, made to cost as much as they can: nobody else waits while they are read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { longestStall, threadTime } from '../support/stall.ts'

const mib = 1 << 20
const integer = '1234567890123456789'
const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const bundle = '{"metadata":{"labels":{"emco/deployment-id":"c-a"}},"status":{"podStatuses":['

/** As many of `unit` as there is room for. */
function filled(size: number, unit: string, head = '[', tail = ']'): string {
  const count = Math.floor((size - head.length - tail.length) / (unit.length + 1))
  return `${head}${Array<string>(count).fill(unit).join(',')}${tail}`
}

interface Case {
  readonly title: string
  readonly line: string
  readonly body: () => string
  readonly type?: string
  readonly status: number
}

const cases: readonly Case[] = [
  {
    title: 'numbers, one of them long',
    line: 'POST /reports',
    body: () => filled(32 * mib, '0', `[${integer},`),
    status: 413,
  },
  {
    title: 'items of nothing, and a long number',
    line: 'POST /reports',
    body: () => filled(32 * mib, '{}', `{"a":${integer},"reports":[`, ']}'),
    status: 413,
  },
  { title: 'one item of lists', line: 'POST /reports', body: () => `[${filled(32 * mib - 2, '[]')}]`, status: 413 },
  { title: 'brackets', line: 'POST /reports', body: () => '['.repeat(32 * mib), status: 400 },
  { title: 'a number without end', line: 'POST /reports', body: () => `[${'1'.repeat(31 * mib)}]`, status: 400 },
  {
    title: 'empty lines',
    line: 'POST /reports',
    body: () => '\n'.repeat(32 * mib),
    type: 'application/x-ndjson',
    status: 200,
  },
  {
    title: 'a line of nothing',
    line: 'POST /reports',
    body: () => filled(32 * mib, '{}'),
    type: 'application/x-ndjson',
    status: 200,
  },
  {
    title: 'resources of nothing',
    line: `POST ${group}/instances/c/resources`,
    body: () => filled(16 * mib, '{}', '{"resources":[', ']}'),
    status: 413,
  },
  {
    title: 'pods of nothing',
    line: `PUT ${group}/resource-bundle-states/p+c`,
    body: () => filled(16 * mib, '{}', bundle, ']}}'),
    status: 413,
  },
  {
    title: 'variables of nothing',
    line: 'POST /graphql',
    body: () => filled(16 * mib - 1_000, '{}', '{"query":"{__typename}","variables":{"a":[', ']}}'),
    status: 413,
  },
  {
    title: 'a status of nothing',
    line: 'PUT /v1/instance/i/status',
    body: () => filled(16 * mib, '{}', '{"resourcesStatus":[', ']}'),
    status: 413,
  },
]

let server: RunningApp
/** Milliseconds that JSON.parse stands still for the like: a good deal more than anybody may wait. */
let yardstick = 0
beforeAll(async () => {
  server = await startApp()
  const text = filled(32 * mib, '{}')
  const began = threadTime()
  JSON.parse(text)
  yardstick = threadTime() - began
}, 60_000)
afterAll(() => server.stop())

describe('a large body of', () => {
  it.each(cases)('$title lets others come between: $line', async ({ line, body, type, status }) => {
    const [method = '', path = ''] = line.split(' ')
    const sent = Buffer.from(body())
    let answered = 0
    const stall = await longestStall(async () => {
      const headers = { 'content-type': type ?? 'application/json' }
      const answer = await fetch(server.url + path, { method, headers, body: sent })
      await answer.arrayBuffer()
      answered = answer.status
    })
    expect(answered).toBe(status)
    expect(stall).toBeLessThan(yardstick / 2)
  })
})
