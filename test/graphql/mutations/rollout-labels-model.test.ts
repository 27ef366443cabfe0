/** Labels of rollouts at random revisions, against a small model. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Label } from '../../../src/domain/target.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { setRolloutLabels } from '../../../src/ingest/commands/rollout-labels.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type Api, startApi } from '../harness.ts'

describe.each(stores)('the labels of rollouts on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store })
  })
  afterAll(() => api.close())

  it('equal the model at every revision, and filters find the rollouts that have them then', async () => {
    const names = ['p1', 'p2', 'p3']
    const keys = new Map<string, number>()
    for (const name of names) {
      const { rolloutKey } = await api.road.writer.submit(declareDeployments({ name, project: 'model' }, [one(name)]))
      keys.set(name, rolloutKey ?? 0)
    }
    const { submit } = api.road.writer
    let present: Model = {}
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
        fc.array(condition, { minLength: 4, maxLength: 4 }),
        async (batches, conditions) => {
          const past: { readonly revision: number; readonly model: Model }[] = []
          for (const batch of batches) {
            // What is submitted at once is mostly one batch.
            const revisions = batch.map(async ({ rollout, labels, how }) => {
              const given = labels.map(([key, value]) => ({ key, value }))
              if (how === 'report')
                return (await submit(recordReport(report({ deploymentId: rollout, reporter: 'on-model' })))).revision
              if (how === 'set') return (await submit(setRolloutLabels(keys.get(rollout) ?? 0, given, null))).revision
              const joined = { name: rollout, project: 'model', labels: given }
              return (await submit(declareDeployments(joined, [one(rollout)]))).revision
            })
            for (const [index, revision] of (await Promise.all(revisions)).entries()) {
              const { rollout, labels, how } = batch[index] ?? { rollout: '', labels: [], how: 'report' }
              if (how !== 'report') present = { ...present, [rollout]: Object.fromEntries(labels) }
              past.push({ revision, model: present })
            }
          }
          for (const [index, { revision, model }] of past.entries()) {
            const wanted = conditions[index % conditions.length] ?? { key: 'env' }
            // The newest moment is the present, too.
            const atRevision = index === past.length - 1 && index % 2 === 0 ? null : String(revision)
            const found = await api.ask(ofModel, { atRevision, wanted })
            const named = (list: { readonly nodes: readonly { readonly name: string }[] }) =>
              list.nodes.map(({ name }) => name).toSorted()
            for (const { name, labels } of found.all.nodes)
              expect(Object.fromEntries(labels.map(({ key, value }: Label) => [key, value]))).toEqual(model[name] ?? {})
            const fulfil = names.filter((name) => fulfils(wanted, model[name] ?? {}))
            expect(named(found.fulfil)).toEqual(fulfil)
            expect(named(found.others)).toEqual(names.filter((name) => !fulfil.includes(name)))
          }
        },
      ),
      { numRuns: someOf(6, 15) },
    )
  })
})

/** By rollout. */
type Model = Readonly<Record<string, Readonly<Record<string, string>>>>

const one = (rollout: string) => ({
  ...{ deviceId: 'on-model', deploymentId: rollout, application: null, applicationVersion: null, components: null },
})
const step = fc.record({
  rollout: fc.constantFrom('p1', 'p2', 'p3'),
  labels: fc.uniqueArray(fc.tuple(fc.constantFrom('env', 'team', '"'), fc.constantFrom('dev', 'prod', '', "'")), {
    selector: ([key]) => key,
    maxLength: 3,
  }),
  how: fc.constantFrom('set', 'declare', 'report'),
})
const value: fc.Arbitrary<string> = fc.constantFrom('dev', 'prod', '', "'", 'other')
const condition = fc.record(
  {
    key: fc.constantFrom('env', 'team', '"', 'none'),
    equals: value,
    in: fc.array(value, { maxLength: 2 }),
    notIn: fc.array(value, { maxLength: 2 }),
    exists: fc.boolean(),
    prefix: fc.constantFrom('', 'p', 'de'),
  },
  { requiredKeys: ['key'] },
)
type Condition = typeof condition extends fc.Arbitrary<infer T> ? T : never

/** As LabelCondition in the schema says, for one value or none. */
function fulfils(wanted: Condition, labels: Readonly<Record<string, string>>): boolean {
  const has = labels[wanted.key]
  const isEmpty = Object.keys(wanted).length === 1
  if (isEmpty || wanted.exists === true) if (has === undefined) return false
  if (wanted.exists === false && has !== undefined) return false
  if (wanted.notIn && has !== undefined && wanted.notIn.includes(has)) return false
  if (wanted.equals !== undefined && has !== wanted.equals) return false
  if (wanted.in && (has === undefined || !wanted.in.includes(has))) return false
  return wanted.prefix === undefined || (has?.startsWith(wanted.prefix) ?? false)
}

const ofModel = `query ($atRevision: Revision, $wanted: LabelCondition!) {
  all: rollouts(atRevision: $atRevision, filter: { projects: ["model"] }) { nodes { name labels { key value } } }
  fulfil: rollouts(atRevision: $atRevision, filter: { projects: ["model"], rolloutLabel: $wanted }) { nodes { name } }
  others: rollouts(atRevision: $atRevision, filter: { projects: ["model"], where: { not: { rolloutLabel: $wanted } } }) { nodes { name } }
}`
