import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesOf, readHardware } from '../../../src/ingest/dialects/margo/hardware.ts'

const nothing = { cpus: [], memory: null, storage: null, deploymentTypes: [] }

describe('the hardware in capabilities', () => {
  it('is read where each generation has it', () => {
    const cpus = [{ cores: 4, architecture: 'arm64' }]
    const read = { ...nothing, cpus, memory: '8Gi', storage: '64Gi', deploymentTypes: ['helm'] }
    const supportedDeploymentTypes = ['helm']
    expect(readHardware({ properties: { cpus, memory: '8Gi', storage: '64Gi', supportedDeploymentTypes } })).toEqual(
      read,
    )
    const resources = { cpu: cpus, memory: '8Gi', storage: '64Gi' }
    expect(readHardware({ properties: { resources, supportedDeploymentTypes } })).toEqual(read)
  })

  it('is absent where a value has another type, and never fails', () => {
    expect(
      readHardware({ properties: { cpus: [1, { cores: 'x' }], memory: {}, supportedDeploymentTypes: [1] } }),
    ).toEqual({
      ...nothing,
      cpus: [{ architecture: null, cores: null }],
    })
    fc.assert(fc.property(fc.jsonValue(), (value) => void readHardware({ properties: value })))
    fc.assert(fc.property(fc.jsonValue(), (value) => void readHardware(value)))
  })

  it.each([
    ['8Gi', 8 * 1024 ** 3],
    ['1.5 KiB', 1536],
    ['2000GB', 2e12],
    ['64M', 64e6],
    ['1024', 1024],
    ['', null],
    ['much', null],
    ['8 apples', null],
    [null, null],
  ])('%j is %j bytes', (quantity, bytes) => {
    expect(bytesOf(quantity)).toBe(bytes)
  })
})
