import { describe, expect, it } from 'vitest'
import { createAddresses } from '../../src/platform/limits/address.ts'

const from = (remoteAddress: string | undefined, forwarded?: string | string[]) => ({
  socket: { remoteAddress },
  headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
})

describe('whose address it is', () => {
  it('is what the connection says, whatever a stranger writes', () => {
    expect(createAddresses([]).of(from('192.0.2.7', '10.0.0.1'))).toBe('192.0.2.7')
    expect(createAddresses(['10.0.0.0/8']).of(from('192.0.2.7', '198.51.100.1'))).toBe('192.0.2.7')
  })

  it('is what our proxies say, from the nearest to the first that is not ours', () => {
    const { of, isTrusted } = createAddresses(['10.0.0.0/8', '::1'])
    expect(of(from('10.1.2.3', '198.51.100.1'))).toBe('198.51.100.1')
    expect(of(from('::ffff:10.1.2.3', '203.0.113.9, 198.51.100.1, 10.9.9.9'))).toBe('198.51.100.1')
    expect(of(from('::1', ['203.0.113.9', '198.51.100.1']))).toBe('198.51.100.1')
    expect(isTrusted(from('10.1.2.3'))).toBe(true)
    expect(isTrusted(from('11.1.2.3', '10.1.2.3'))).toBe(false)
  })

  it('is the proxy’s own where it says nothing that is an address', () => {
    const { of } = createAddresses(['10.0.0.1'])
    expect(of(from('10.0.0.1'))).toBe('10.0.0.1')
    expect(of(from('10.0.0.1', 'unknown'))).toBe('10.0.0.1')
    expect(of(from('10.0.0.1', '198.51.100.1, "><script>'))).toBe('10.0.0.1')
    expect(of(from(undefined))).toBe('')
  })

  it('counts as its whole /64 in IPv6', () => {
    const { networkOf } = createAddresses([])
    const network = networkOf(from('2001:db8:1:2:aaaa::1'))
    expect(networkOf(from('2001:db8:1:2::ffff'))).toBe(network)
    expect(networkOf(from('2001:db8:1:3::1'))).not.toBe(network)
    expect(networkOf(from('192.0.2.7'))).toBe('192.0.2.7')
    expect(networkOf(from('::1'))).toBe(networkOf(from('::2')))
  })
})
