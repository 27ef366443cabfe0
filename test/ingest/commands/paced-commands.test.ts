/** Commands of thousands of items pause after each: what one step costs does not grow with their number. Counted in steps, without a database. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Digest } from '../../../src/domain/desired.ts'
import type { Command } from '../../../src/ingest/command.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { type DeviceRegistration, registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { retireDevices } from '../../../src/ingest/commands/devices/retire.ts'
import { forgetDeployments, removeDeployments } from '../../../src/ingest/commands/remove.ts'
import { createUnitOfWork, type UnitOfWork } from '../../../src/ingest/unit-of-work/unit-of-work.ts'
import { stepsOf } from '../../../src/platform/limits/pace.ts'

const items = 300
const digestOf = (text: string): Digest => `sha256:${createHash('sha256').update(text).digest('hex')}` as Digest
const manifestUpdate = {
  cause: { caller: 'ann', why: 'a test' },
  bundle: (documents: readonly { readonly content: string }[]) => ({
    digest: digestOf(documents.map(({ content }) => content).join()),
    size: 1,
  }),
}
const nothing = { name: null, labels: null, parent: null, expectedInterval: null }
const registrations = (make: (index: number) => Partial<DeviceRegistration> = () => ({})): DeviceRegistration[] =>
  Array.from({ length: items }, (_, n) => ({ ...nothing, deviceId: `d-${n}`, tokenHash: `hash-${n}`, ...make(n) }))
const declarations = Array.from({ length: items }, (_, n) => ({
  ...{ deviceId: `d-${n % 7}`, deploymentId: `x-${n}`, application: null, applicationVersion: null, components: null },
  document: { content: `text ${n}`, digest: digestOf(String(n)), size: 10 },
}))

function emptyWork(): UnitOfWork {
  return createUnitOfWork({ revision: 0, at: 0, nextKey: 1 }, { deployments: [], targets: [], rollouts: [] }, 1_000)
}

function run<Result>(work: UnitOfWork, command: Command<Result>): { readonly steps: number; readonly result: Result } {
  const deciding = stepsOf(command.decide(work))
  for (let steps = 0; ; steps += 1) {
    const { done, value } = deciding.next()
    if (done) return { steps, result: value }
  }
}

/** In parts, if it is a divided one. */
async function countSteps(work: UnitOfWork, command: Command<unknown>): Promise<number> {
  if (!command.divided) return run(work, command).steps
  let all = 0
  await command.divided(async (part) => {
    const { steps, result } = run(work, part)
    all += steps
    return result
  })
  return all
}

describe('a command pauses after each item', () => {
  const work = emptyWork()
  const paused = async (command: Command<unknown>): Promise<void> => {
    const steps = await countSteps(work, command)
    expect(steps).toBeGreaterThanOrEqual(items)
    expect(steps).toBeLessThan(10 * items)
  }
  const keys = (): number[] => [...work.effects().deployments.keys()]
  const retirements = registrations().map(({ deviceId }) => ({ deviceId, replacedBy: null }))

  it.each([
    ['registerDevices', () => registerDevices(registrations((n) => ({ spiffeIds: [`spiffe://x/${n}`] })))],
    ['registerDevices of a chain', () => registerDevices(registrations((n) => ({ parent: n ? `d-${n - 1}` : null })))],
    ['registerDevices of what is known', () => registerDevices(registrations())],
    ['declareDeployments', () => declareDeployments(null, declarations, manifestUpdate)],
    ['removeDeployments', () => removeDeployments(keys(), manifestUpdate)],
    ['forgetDeployments', () => forgetDeployments(keys())],
    ['declareDeployments again', () => declareDeployments(null, declarations, manifestUpdate)],
    ['retireDevices', () => retireDevices(retirements, { reason: 'scrapped', withChildren: true, manifestUpdate })],
  ])('%s', (_, command) => paused(command()))
})

describe('the deployments of a reporter', () => {
  it('are found in an index of all, when their order is reset', () => {
    const work = emptyWork()
    run(work, declareDeployments(null, declarations, manifestUpdate))
    const all = [...work.effects().deployments.values()]
    for (const reporter of ['d-0', 'd-6', 'none'])
      expect(work.clearMarks(reporter)).toBe(all.filter(({ row }) => row.reporter === reporter).length)
    expect(work.effects().clearedMarks).toEqual(new Set(['d-0', 'd-6', 'none']))
  })
})

describe('a refused registration', () => {
  it.each([
    ['an identity of another', [{ spiffeIds: ['spiffe://x/1'] }, { spiffeIds: ['spiffe://x/held'] }]],
    ['an identity that two of them want', [{ spiffeIds: ['spiffe://x/1'] }, { spiffeIds: ['spiffe://x/1'] }]],
    ['parents in a circle', [{ parent: 'd-1' }, { parent: 'd-0' }]],
  ] as const)('changes nothing: %s', (_, some) => {
    const work = emptyWork()
    run(work, registerDevices([{ ...nothing, deviceId: 'holder', tokenHash: 'h', spiffeIds: ['spiffe://x/held'] }]))
    const before = work.effects().targets
    const devices = some.map((one, n) => ({ ...nothing, deviceId: `d-${n}`, tokenHash: `hash-${n}`, ...one }))
    expect(() => run(work, registerDevices(devices))).toThrow(/is that of device|cannot be its parent/)
    expect(work.effects().targets).toEqual(before)
  })
})
