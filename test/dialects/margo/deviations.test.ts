import { describe, expect, it } from 'vitest'
import { deviationsOf } from '../../../src/ingest/dialects/margo/deviations.ts'
import { report } from '../../support/clients/reports.ts'

const deploymentId = 'a3e2f5dc-912e-494f-8395-52cf3769bc06'
const error = { code: 'E1', message: 'no space' }
const part = (state: 'FAILED' | 'PENDING' | 'INSTALLED', of: typeof error | null = null) => ({
  name: state,
  state,
  error: of,
})

describe('deviations from the specification', () => {
  it.each([
    ['nothing', { state: 'INSTALLED', components: [part('INSTALLED')] }, []],
    [
      'a pre-processing failure, said as such',
      { state: 'FAILED', error, failureStage: 'PRE_PROCESSING', components: [part('PENDING')] },
      [],
    ],
    [
      'a failure before any component',
      { state: 'FAILED', error, components: [part('PENDING'), { ...part('PENDING'), name: 'second' }] },
      [],
    ],
    ['a failure after all components', { state: 'FAILED', error, components: [part('INSTALLED')] }, []],
    [
      'FAILED while one of its components is still to be installed',
      { state: 'FAILED', error, components: [part('INSTALLED'), part('PENDING')] },
      ['INCONSISTENT_STATE'],
    ],
    ['FAILED and no error', { state: 'FAILED' }, ['FAILED_WITHOUT_ERROR']],
    ['FAILED and no message', { state: 'FAILED', error: { code: 'E1', message: '' } }, ['FAILED_WITHOUT_ERROR']],
    [
      'a failed component and no error',
      { state: 'FAILED', error, components: [part('FAILED')] },
      ['FAILED_WITHOUT_ERROR'],
    ],
    ['PENDING and no reason', { state: 'PENDING' }, ['PENDING_WITHOUT_REASON']],
    [
      'INSTALLED with a failed component',
      { state: 'INSTALLED', components: [part('FAILED', error)] },
      ['INCONSISTENT_STATE'],
    ],
    ['an id that is no UUID', { state: 'INSTALLED', deploymentId: 'press' }, ['DEPLOYMENT_ID_NOT_UUID']],
  ] as const)('%s', (_, said, kinds) => {
    expect(deviationsOf(report({ deploymentId, ...said })).map(({ kind }) => kind)).toEqual(kinds)
  })

  it('are each form of an ID but one of those that look the same', () => {
    const forms = [
      deploymentId.toUpperCase(),
      deploymentId.replace('a', '\u0430'),
      deploymentId.replaceAll('-', '\u2011'),
      `${deploymentId}\u200b`,
      `${deploymentId}\n`,
    ]
    for (const form of forms)
      expect(deviationsOf(report({ deploymentId: form, state: 'INSTALLED' })).map(({ kind }) => kind)).toEqual([
        'DEPLOYMENT_ID_NOT_UUID',
      ])
  })

  it('gives an example of at most 200 characters that can be stored', () => {
    const [found] = deviationsOf(report({ deploymentId: `${'x'.repeat(184)}😀😀`, state: 'INSTALLED' }))
    expect(found?.example.length).toBeLessThanOrEqual(200)
    expect(found?.example).toMatch(/^deploymentId: x+…$/)
  })
})
