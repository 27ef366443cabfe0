import { describe, expect, it } from 'vitest'
import type { DomainError } from '../../src/domain/errors.ts'
import { createAdmission, retryAfter } from '../../src/platform/limits/admission.ts'
import type { LimitName } from '../../src/platform/limits/limits.ts'

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} })

function startGate() {
  const seen: LimitName[] = []
  let now = 0
  const admission = createAdmission({
    limits: { rates: { address: 2, device: 1 }, streams: 2 },
    observe: (limit) => seen.push(limit),
    clock: () => now,
  })
  return {
    admission,
    seen,
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

function refusal(act: () => unknown): DomainError | null {
  try {
    act()
    return null
  } catch (error) {
    return error as DomainError
  }
}

describe('the gate', () => {
  it('lets ten seconds’ worth in at once, and then as many as are allowed', () => {
    const { admission, seen, pass } = startGate()
    for (let n = 0; n < 20; n++) admission.admit(from('192.0.2.1'))
    const error = refusal(() => admission.admit(from('192.0.2.1')))
    expect(error).toMatchObject({
      code: 'TOO_MANY',
      message: 'this address sends more than 2 requests a second: retry in 1 s',
      facts: { limit: 'requestsPerAddress', max: 2, retryAfterSeconds: 1 },
    })
    expect(seen).toEqual(['requestsPerAddress'])
    pass(500)
    admission.admit(from('192.0.2.1'))
    expect(refusal(() => admission.admit(from('192.0.2.1')))).not.toBeNull()
    pass(60_000)
    for (let n = 0; n < 20; n++) admission.admit(from('192.0.2.1'))
    expect(refusal(() => admission.admit(from('192.0.2.1')))).not.toBeNull()
  })

  it('lets bystanders in', () => {
    const { admission } = startGate()
    for (let n = 0; n < 30; n++) refusal(() => admission.admit(from('192.0.2.1')))
    for (let n = 0; n < 30; n++) refusal(() => admission.admitDevice('edge-1'))
    expect(refusal(() => admission.admitDevice('edge-1'))).toMatchObject({ facts: { limit: 'requestsPerDevice' } })
    admission.admit(from('192.0.2.2'))
    admission.admitDevice('edge-2')
  })

  it('is not opened by a clock that is set back', () => {
    const { admission, pass } = startGate()
    for (let n = 0; n < 10; n++) admission.admitDevice('edge-1')
    pass(-3_600_000)
    expect(refusal(() => admission.admitDevice('edge-1'))).not.toBeNull()
    pass(1_000)
    admission.admitDevice('edge-1')
  })

  it('counts streams until they are over, each once', () => {
    const { admission } = startGate()
    const [first] = [admission.openStream('ann'), admission.openStream('ann')]
    expect(refusal(() => admission.openStream('ann'))).toMatchObject({
      code: 'TOO_MANY',
      facts: { limit: 'streams', max: 2 },
    })
    admission.openStream('ben')
    first?.()
    first?.()
    admission.openStream('ann')
    expect(refusal(() => admission.openStream('ann'))).not.toBeNull()
  })

  it('lets everybody in who is not limited', () => {
    const admission = createAdmission()
    for (let n = 0; n < 1_000; n++) {
      admission.admit(from('192.0.2.1'))
      admission.admitDevice('edge-1')
      admission.openStream('ann')
    }
  })

  it('spreads those it sends away', () => {
    const waits = Array.from({ length: 200 }, () => retryAfter({ retryAfterSeconds: 10 }))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(10)
    expect(Math.max(...waits)).toBeLessThanOrEqual(40)
    expect(new Set(waits).size).toBeGreaterThan(5)
  })
})
