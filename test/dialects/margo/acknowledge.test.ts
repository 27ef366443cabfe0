import { expect, it } from 'vitest'
import { acknowledgement } from '../../../src/ingest/dialects/margo/acknowledge.ts'

const revision = 1_790_000_000_000_123

it('says the verdict and the revision in digits', () => {
  const received = { acknowledgement: 'received', revision: '1790000000000123' }
  expect(acknowledgement({ verdict: 'APPLIED', revision })).toEqual({ ...received, verdict: 'APPLIED' })
  expect(acknowledgement({ verdict: 'UNCHANGED', revision })).toEqual({ ...received, verdict: 'UNCHANGED' })
})

it('names the key a stale report lost by', () => {
  expect(acknowledgement({ verdict: 'STALE', revision, staleBy: 'seq' })).toEqual({
    acknowledgement: 'received',
    verdict: 'STALE',
    revision: '1790000000000123',
    staleBy: 'seq',
  })
})
