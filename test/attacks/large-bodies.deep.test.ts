/**
 * The largest hostile bodies, and a share of the items of the largest valid bodies, in one process with a server: no turn of its event loop is long.
 * The quick suite sends every twelfth of them, a whole run every fourth. measure-bodies.ts measures all items.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isDeep, someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { longestStall, threadTime } from '../support/stall.ts'
import { prepared } from './attacker/large-body.ts'
import { hostileBodies } from './attacker/largest-hostile-bodies.ts'
import { validBodies } from './attacker/largest-valid-bodies.ts'

let server: RunningApp
/** Milliseconds of this processor for JSON.parse of a million objects: a measure of its speed. One parse of the largest body takes 1 GB. */
let yardstick = 0
beforeAll(async () => {
  server = await startApp()
  for (const { line, body } of prepared) await send(line, Buffer.from(body()))
  const text = `[${'{},'.repeat(1_000_000)}{}]`
  const began = threadTime()
  JSON.parse(text)
  yardstick = threadTime() - began
})
afterAll(() => server.stop())

async function send(line: string, body: Buffer<ArrayBuffer>, type = 'application/json'): Promise<number> {
  const [method = '', path = ''] = line.split(' ')
  const answer = await fetch(server.url + path, { method, headers: { 'content-type': type }, body })
  await answer.arrayBuffer()
  return answer.status
}

const some = <T>(cases: readonly T[]): readonly T[] => cases.filter((_, index) => isDeep || index % someOf(12, 4) === 0)

describe.each([
  ['valid', some(validBodies(1 / 4))],
  ['hostile', some(hostileBodies)],
])('a large %s body of', (_, cases) => {
  it.each(cases)('$title lets others come between: $line', async ({ line, body, first, type, status }) => {
    if (first) await send(line, Buffer.from(first()), type)
    const sent = Buffer.from(body())
    const answers: number[] = []
    const measure = () => longestStall(async () => void answers.push(await send(line, sent, type)))
    const most = 4 * yardstick
    const stall = await measure()
    expect(answers).toEqual([status])
    // A full garbage collection of what earlier tests left falls into one of them. What the body itself costs is in both.
    expect(stall < most ? stall : await measure()).toBeLessThan(most)
  })
})
