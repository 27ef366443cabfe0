/** What a large command loads, it looks up row by row: nothing is compared with everything, also where there are no statistics yet. */
import { describe, expect, it } from 'vitest'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { createBundle } from '../../src/ingest/dialects/margo/bundle.ts'
import { digestOf } from '../../src/platform/body/digest.ts'
import type { Database, Session, WritingSession } from '../../src/store/database.ts'
import { documentOf } from '../support/clients/desired.ts'
import { everyStore } from '../support/databases/stores.ts'
import { createRoad } from '../support/servers/road.ts'

interface Plan {
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Actual Loops': number
  readonly Plans?: readonly Plan[]
}

const devices = 300

/** Rows that were read and not wanted. */
function wasted({ Plans = [], ...plan }: Plan): number {
  const perLoop = (plan['Rows Removed by Join Filter'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)
  return Plans.reduce((sum, part) => sum + wasted(part), perLoop * plan['Actual Loops'])
}

function spied(session: WritingSession, asked: Map<string, readonly unknown[]>): WritingSession {
  const run: Session['run'] = (text, parameters = []) => {
    if (text.startsWith('select') && parameters.length > 0) asked.set(text, parameters)
    return session.run(text, parameters)
  }
  return Object.assign(Object.create(session) as WritingSession, { run })
}

describe.each(everyStore)('loading on $name', (store) => {
  it('a rollout to many devices reads what it needs', async () => {
    const empty = await store.create()
    const database = await empty.open()
    const asked = new Map<string, readonly unknown[]>()
    const transaction: Database['transaction'] = (work) => database.transaction((own) => work(spied(own, asked)))
    const road = await createRoad(Object.assign(Object.create(database) as Database, { transaction }))
    const content = documentOf('vision')
    const document = { content, digest: digestOf(content), size: content.length }
    const bundle = (documents: Parameters<typeof createBundle>[0]) => {
      const bytes = createBundle(documents)
      return { digest: digestOf(bytes), size: bytes.length }
    }
    const declare = () => {
      const declared = Array.from({ length: devices }, (_, index) => ({
        ...{ deviceId: `edge-${index}`, deploymentId: 'vision', document },
        ...{ application: null, applicationVersion: null, components: ['web'] },
      }))
      return road.writer.submit(declareDeployments(null, declared, { cause: { caller: 'me', why: '' }, bundle }))
    }
    const { revision } = await declare()
    asked.clear()
    expect((await declare()).revision).toBe(revision)
    expect([...asked.keys()].filter((text) => /deployments|targets|manifest/.test(text)).length).toBeGreaterThan(5)
    for (const [text, parameters] of asked) {
      const [row] = await database.transaction((own) =>
        own.run<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
          `explain (analyze, format json) ${text}`,
          parameters,
        ),
      )
      const plan = row?.['QUERY PLAN'][0]?.Plan
      expect(plan && wasted(plan), text).toBeLessThan(devices)
    }
    await road.close()
    await empty.drop()
  })
})
