/** What an answer leaves out, and what that costs. */
import { expect, it } from 'vitest'
import { answerOf, type Facts, usualBytes } from '../../src/api/mcp/answer.ts'
import type { Asking } from '../../src/api/mcp/asking.ts'
import { deploymentTool } from '../../src/api/mcp/tools/deployment.ts'
import { mark, quote } from '../../src/api/mcp/untrusted.ts'

const text = mark('本'.repeat(400))
const rows = (count: number) => Array.from({ length: count }, (_, number) => ({ number, text }))

it.each([5, 50])('fits with rows of the longest texts and a limit of %i, and is made only a few times', (limit) => {
  let made = 0
  const lines = (facts: Facts): string[] => {
    made += 1
    return Object.values(facts).flatMap((list) => (list as ReturnType<typeof rows>).map((row) => quote(row.text)))
  }
  const facts = { few: rows(3), many: rows(1_000) }
  const { structuredContent, content } = answerOf({ revision: '1', time: 't', page: '', facts, lines }, '', limit)
  expect(Buffer.byteLength(JSON.stringify({ content, structuredContent }))).toBeLessThanOrEqual(
    usualBytes * (limit / 5),
  )
  const { few, many, omitted } = structuredContent as typeof facts & { omitted: object[] }
  expect(many.length).toBeGreaterThan(0)
  expect([few, many]).toEqual([rows(few.length), rows(many.length)])
  expect(omitted.at(-1)).toMatchObject({ what: 'many', count: 1_000 - many.length })
  expect(made).toBeLessThan(20)
})

it('leaves out components without an error first', async () => {
  const component = (name: string, error: object | null) => ({ name, state: 'FAILED', changedAt: 't', error })
  const components = [component('a', null), component('b', { code: 'E', message: 'no disk', source: null })]
  const deployment = { deploymentId: 'd', reporter: 'e', target: { name: 'e' }, rollout: { id: 'r', name: 'r' } }
  const found = { ...deployment, components, history: { totalCount: 0, nodes: [] } }
  const asking = { ask: async () => ({ revision: '1', deployment: found }) } as unknown as Asking
  const context = { asking, signal: AbortSignal.any([]), clock: Date.now, progress: async () => undefined }
  const { facts } = await deploymentTool.run(context, { limit: 5, deployment: 'd' } as never)
  expect(facts.components).toMatchObject([{ error: { code: { untrusted: 'E' } } }, { error: null }])
})
