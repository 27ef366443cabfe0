/**
 * Which addresses may receive notifications. Internal addresses are excluded by default, so that a caller cannot reach services that only
 * this server can reach. A target is checked when it is configured. The address that its name resolves to is checked for each request.
 */
import { BlockList, isIP } from 'node:net'

export interface AddressRule {
  /** Why that target may not be used. Null: it may. A host name is judged by its text alone. */
  refuseUrl(url: string): string | null
  /** Whether a name that resolves to this address may be connected to. */
  allows(host: string, address: string): boolean
}

/**
 * All of IANA's special-purpose registries for IPv4 and IPv6, multicast and reserved ranges, and forms in which an IPv6 address carries an
 * IPv4 one (compatible, translated, 6to4, NAT64). A mapped one (::ffff:0:0/96) is judged as the IPv4 address that it is.
 */
const internal: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.31.196.0', 24, 'ipv4'],
  ['192.52.193.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['192.175.48.0', 24, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['240.0.0.0', 4, 'ipv4'],
  ['::', 96, 'ipv6'],
  ['::ffff:0:0:0', 96, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['100::', 64, 'ipv6'],
  ['100:0:0:1::', 64, 'ipv6'],
  ['2001::', 23, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['2620:4f:8000::', 48, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
  ['5f00::', 16, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
]

/** `allowed`: host names, addresses and CIDR ranges that may be reached although they are internal. */
export function createAddressRule(allowed: readonly string[]): AddressRule {
  const blocked = listOf(internal)
  const names = new Set(allowed.filter((entry) => !isIP(entry.split('/')[0] ?? '')).map((name) => name.toLowerCase()))
  const open = listOf(
    allowed.flatMap((entry) => {
      const [address = '', prefix] = entry.split('/')
      const family = isIP(address)
      if (family === 0) return []
      return [
        [address, prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix), family === 4 ? 'ipv4' : 'ipv6'],
      ] as const
    }),
  )
  const allows = (host: string, address: string): boolean => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
    const family = isIP(plain) === 4 ? 'ipv4' : 'ipv6'
    return names.has(host.toLowerCase()) || open.check(plain, family) || !blocked.check(plain, family)
  }
  return {
    allows,
    refuseUrl(text) {
      const url = URL.parse(text)
      if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return 'must be an http or https address'
      if (url.username || url.password) return 'must not contain a user or a password'
      // `localhost.` is localhost, and any other name has two spellings.
      if (url.hostname.endsWith('.')) return 'must name its host without a dot at the end'
      const host = url.hostname.replace(/^\[|\]$/g, '')
      const isInternal = isIP(host) ? !allows(host, host) : isLocalName(host) && !names.has(host.toLowerCase())
      return isInternal ? `must not be internal (${host}) unless SINK_ALLOW names it` : null
    },
  }
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

function listOf(entries: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix, family] of entries) list.addSubnet(address, prefix, family)
  return list
}
