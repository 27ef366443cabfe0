/** The table of what a broker and a collector get: each value is a field of GraphQL that every viewer may read. And the spans of rollouts, against it. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Change, ChangeBody } from '../../src/domain/change.ts'
import { createExporter } from '../../src/outlets/traces/exporter.ts'
import { attemptSpans, rolloutSpan, type TracedRollout } from '../../src/outlets/traces/spans.ts'
import { startCollector } from '../support/systems/collector.ts'
import { bodies } from './change-bodies.ts'
import { distinct, parent, payloadOf, publishedTable, rowsOf } from './published.ts'

type AccessTable = Readonly<Record<string, Readonly<Record<string, string>>>>

const accessTable: AccessTable = JSON.parse(readFileSync(new URL('access-table.json', import.meta.url), 'utf8'))

describe('the table of what is published', () => {
  const rows = Object.entries(publishedTable).flatMap(([payload, paths]) =>
    Object.entries(paths).map(([path, shown]) => ({ payload, path, shown })),
  )

  it('names a field of GraphQL for each value, which every viewer may read', () => {
    const wrong = rows.filter(({ shown }) => {
      const [type = '', field = ''] = shown.split('.')
      return !shown.startsWith('none: ') && accessTable[type]?.[field] !== 'viewer'
    })
    expect(wrong).toEqual([])
  })

  it('has values without such a field only where they say nothing of the fleet', () => {
    const own = /^span of a (request|batch)$|^(traceId|spanId|parentSpanId|code|message)$|^resource\./
    const wrong = rows.filter(
      ({ payload, path, shown }) => shown.startsWith('none: ') && !own.test(payload) && !own.test(path),
    )
    expect(wrong).toEqual([])
  })
})

describe('the spans of rollouts', () => {
  it('have the values of the table', async () => {
    const change = (body: ChangeBody, revision: number): Change =>
      ({
        ...{ ...body, revision, at: revision * 1_000, observedAt: null, traceparent: parent, deploymentKey: 1 },
        ...{ deploymentId: 'd', targetKind: revision < 10 ? 'DEVICE' : 'CLUSTER', targetName: 't', rolloutKey: 1 },
      }) as Change
    const { DEPLOYMENT_STATE_CHANGED: state, COMPONENT_STATE_CHANGED: component, DEPLOYMENT_STALLED: stalled } = bodies
    const attempt = (first: number): Change[] => [
      change({ ...state, from: null, to: 'PENDING' }, first),
      change(stalled, first + 1),
      change({ ...state, from: 'PENDING', to: 'INSTALLING', error: null }, first + 2),
      change(component, first + 3),
      change(state, first + 4),
    ]
    const created = { revision: 1, at: 1_000, traceparent: parent }
    const rollout: TracedRollout = { key: 1, name: 'vision', kind: 'DECLARED', project: 'x', created }
    const subject = { rollout, application: 'app', applicationVersion: '2', reporter: 'edge' }
    const collector = await startCollector()
    const exporter = createExporter({
      url: `${collector.url}/v1/traces`,
      headers: {},
      service: 'plant',
      requests: null,
    })
    await exporter.send([
      rolloutSpan(rollout),
      ...attemptSpans(attempt(1), subject),
      ...attemptSpans(attempt(10), subject),
    ])
    await exporter.close()
    await collector.close()
    const byPayload = Map.groupBy(collector.spans, payloadOf)
    for (const payload of ['span of a rollout', 'span of an attempt', 'span of a component'])
      expect([payload, distinct(byPayload.get(payload) ?? [])]).toEqual([payload, rowsOf(payload)])
  })
})
