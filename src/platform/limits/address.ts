/** The address of a request's client: the nearest hop that is not a trusted proxy. Trusted proxies report earlier hops in `X-Forwarded-For`. */
import { BlockList, isIP } from 'node:net'

export interface Hop {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface Addresses {
  /** The address of the client. It ignores `X-Forwarded-For` of a peer that is not trusted. */
  of(request: Hop): string
  /** The network that limits count by: the address itself for IPv4, its /64 for IPv6, because one client usually holds a whole /64. */
  networkOf(request: Hop): string
  /** Whether the peer of the connection is a trusted proxy. Only then are its forwarding headers used. */
  isTrusted(request: Hop): boolean
}

/** `proxies`: addresses and ranges of trusted proxies, such as 10.20.30.0/24. */
export function createAddresses(proxies: readonly string[]): Addresses {
  const trusted = new BlockList()
  for (const entry of proxies) {
    const [address = '', prefix] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    trusted.addSubnet(address, prefix === undefined ? (family === 'ipv4' ? 32 : 128) : Number(prefix), family)
  }
  const trusts = (address: string): boolean =>
    proxies.length > 0 && isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  const peerOf = ({ socket }: Hop): string => unmapIpv4(socket.remoteAddress ?? '')

  function addressOf(request: Hop): string {
    let address = peerOf(request)
    if (proxies.length === 0) return address
    const { 'x-forwarded-for': forwarded } = request.headers
    const chain = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? ''))
      .split(',')
      .map((hop) => hop.trim())
    // Each proxy appends the address of its peer.
    while (trusts(address)) {
      const before = unmapIpv4(chain.pop() ?? '')
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

/** Removes the prefix of an IPv4 address on an IPv6 socket. */
function unmapIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/** The network that limits count by. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail ? tail.split(':') : []
  const gap = tail === undefined ? 0 : 8 - front.length - back.length
  return `${[...front, ...Array<string>(Math.max(gap, 0)).fill('0'), ...back].slice(0, 4).join(':')}::/64`
}
