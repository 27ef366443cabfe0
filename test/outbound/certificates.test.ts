/** A system is asked by https only if its certificate is good: valid now, of this host, for a server, with a long key, by a trusted authority. */
import { Agent } from 'node:https'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openAnswer } from '../../src/platform/outbound/request.ts'
import { createRandom } from '../attacks/attacker/random.ts'
import { badCertificates, createShownCertificates, type ShownCertificates } from '../attacks/outbound/certificates.ts'
import { type Front, startFront } from '../attacks/outbound/front.ts'

let certificates: ShownCertificates
let front: Front
beforeAll(async () => {
  certificates = await createShownCertificates()
  front = await startFront({ random: createRandom(1), certificates })
})
afterAll(async () => {
  await front.stop()
  await certificates.remove()
})

async function ask(mode: string): Promise<number> {
  front.set(mode)
  const answer = await openAnswer(new URL(front.url), { agent: new Agent({ ca: certificates.ca.text }) })
  answer.destroy()
  return answer.statusCode ?? 0
}

it.each(badCertificates)('no request is sent to a system with this: %s', async (name) => {
  expect(await ask('redirect')).toBeGreaterThan(300)
  await expect(ask(name)).rejects.toThrow(/certificate|Hostname/i)
  expect(front.accepted).toEqual([])
})
