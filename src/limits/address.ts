/** Whose address a request comes from: the nearest one that is not a proxy of ours, as those proxies say (`X-Forwarded-For`). */
import { BlockList, isIP } from 'node:net'

export interface Hop {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface Addresses {
  /** Never a word of somebody that is not trusted. */
  of(request: Hop): string
  /** What counts as one: of IPv6 whoever has one address has the whole /64. */
  networkOf(request: Hop): string
  /** Whether the connection itself is from a proxy of ours, whose headers may be believed. */
  isTrusted(request: Hop): boolean
}

/** `proxies`: addresses and ranges such as 10.0.0.0/8. */
export function createAddresses(proxies: readonly string[]): Addresses {
  const trusted = new BlockList()
  for (const entry of proxies) {
    const [address = '', prefix] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    trusted.addSubnet(address, prefix === undefined ? (family === 'ipv4' ? 32 : 128) : Number(prefix), family)
  }
  const trusts = (address: string): boolean =>
    proxies.length > 0 && isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  const peerOf = ({ socket }: Hop): string => plain(socket.remoteAddress ?? '')

  function addressOf(request: Hop): string {
    let address = peerOf(request)
    if (proxies.length === 0) return address
    const { 'x-forwarded-for': forwarded } = request.headers
    const chain = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? ''))
      .split(',')
      .map((hop) => hop.trim())
    // Each says who it heard from, at the end.
    while (trusts(address)) {
      const before = plain(chain.pop() ?? '')
      if (isIP(before) === 0) break
      address = before
    }
    return address
  }

  return {
    isTrusted: (request) => trusts(peerOf(request)),
    of: addressOf,
    networkOf: (request) => networkOf(addressOf(request)),
  }
}

/** An IPv4 address that came over an IPv6 socket. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/** What counts as one address. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail ? tail.split(':') : []
  const gap = tail === undefined ? 0 : 8 - front.length - back.length
  return `${[...front, ...Array<string>(Math.max(gap, 0)).fill('0'), ...back].slice(0, 4).join(':')}::/64`
}
