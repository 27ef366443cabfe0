/** The largest bodies that are taken, made to cost as much as they can: nobody else waits while they are read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { longestStall, threadTime } from '../support/stall.ts'
import { prepared } from './attacker/large-body.ts'
import { hostileBodies } from './attacker/largest-hostile-bodies.ts'
import { validBodies } from './attacker/largest-valid-bodies.ts'

let server: RunningApp
/** Milliseconds that JSON.parse stands still for the like: a good deal more than anybody may wait. */
let yardstick = 0
beforeAll(async () => {
  server = await startApp()
  for (const { line, body } of prepared) await send(line, body())
  const text = `[${'{},'.repeat(11_000_000)}{}]`
  const began = threadTime()
  JSON.parse(text)
  yardstick = threadTime() - began
}, 60_000)
afterAll(() => server.stop())

async function send(line: string, text: string, type = 'application/json'): Promise<number> {
  const body = Buffer.from(text)
  const [method = '', path = ''] = line.split(' ')
  const answer = await fetch(server.url + path, { method, headers: { 'content-type': type }, body })
  await answer.arrayBuffer()
  return answer.status
}

describe.each([
  ['valid', validBodies],
  ['hostile', hostileBodies],
])('a large %s body of', (_, cases) => {
  it.each(cases)('$title lets others come between: $line', async ({ line, body, first, type, status }) => {
    if (first) await send(line, first(), type)
    const sent = body()
    let answered = 0
    const stall = await longestStall(async () => {
      answered = await send(line, sent, type)
    })
    expect(answered).toBe(status)
    expect(stall).toBeLessThan(yardstick / 2)
  })
})
