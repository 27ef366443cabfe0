/**
 * Types of variables that name hosts: URLs, origins, addresses and ranges. No host that is compared with others, or sent to the system, has a dot at its end:
 * `localhost.` is localhost under another name. A database gets no name of its host, and Kubernetes' names for it may have the dot.
 */
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import { parseDatabaseUrl, UrlError } from '../../store/connection/target/url.ts'
import { listOf, setting } from './values.ts'

export const publicUrl = setting(
  'an http or https URL without a user, a password, a query and a fragment, such as https://rollcall.example, and its host without a dot at the end',
  (text) => {
    const url = URL.parse(text)
    return isWeb(url) ? url.href.replace(/\/+$/, '') : null
  },
)
/** As its owner writes it: a slash at its end belongs to its name. Keys that are read on a plain connection would be those of anyone on the way. */
export const secureUrl = setting(
  'an https URL, or http on a loopback address, without a user, a password, a query and a fragment, and its host without a dot at the end',
  (text) => {
    const url = URL.parse(text)
    const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '')
    return isWeb(url) && (url.protocol === 'https:' || isLocal) ? text : null
  },
)
export const origins = setting('origins such as https://board.example, separated by commas, or *', (text) => {
  const list = listOf(text)
  return list.every((origin) => origin === '*' || isOrigin(origin)) ? list : null
})
/** A name that URL writes in another way, such as 127.1 or 0x7f.0.0.1, would never be that of a request. */
export const allowList = setting(
  'host names, addresses and ranges such as 10.20.30.0/24, none wider than a /8 of IPv4 or a /7 of IPv6, separated by commas',
  (text) => {
    const list = listOf(text)
    return list.every((entry) => isAddressOrRange(entry) || isHostName(entry)) ? list : null
  },
)
export const proxies = setting(
  'addresses and ranges such as 10.20.30.0/24, none wider than a /8 of IPv4 or a /7 of IPv6, separated by commas',
  (text) => {
    const list = listOf(text)
    return list.every(isAddressOrRange) ? list : null
  },
)
export const databaseUrl = z.string().superRefine((text, context) => {
  const problem = problemOf(text)
  if (problem !== null) context.addIssue(problem)
})
export const databaseUrls = z
  .string()
  .superRefine((text, context) => {
    const problem =
      listOf(text).length === 0
        ? 'has no URL'
        : listOf(text)
            .map(problemOf)
            .find((one) => one !== null)
    if (problem) context.addIssue(`${problem} (URLs are separated by commas, and a comma within one is written %2C)`)
  })
  .transform(listOf)

/** Whether it is a URL of http or https that names a server, and no more. */
export function isWeb(url: URL | null): url is URL {
  return isOfServer(url, /^https?:$/) && url.search === '' && url.hash === ''
}

/** Whether it has a host that others write in the same way, and neither a user nor a password. */
export function isOfServer(url: URL | null, protocols: RegExp): url is URL {
  if (url === null || !protocols.test(url.protocol) || url.hostname === '' || url.hostname.endsWith('.')) return false
  return url.username === '' && url.password === ''
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return isWeb(url) && url.origin === text
}

function isHostName(text: string): boolean {
  return /^[\w.-]+$/.test(text) && !text.endsWith('.') && URL.parse(`http://${text}`)?.hostname === text.toLowerCase()
}

/** Trust in nearly all addresses is trust in anyone. */
function isAddressOrRange(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  if (prefix === undefined) return true
  const [widest, narrowest] = family === 4 ? [8, 32] : [7, 128]
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) < widest || Number(prefix) > narrowest) return false
  const range = new BlockList()
  range.addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6')
  // As ::ffff:0:0/96 does.
  return !['1.1.1.1', '129.1.1.1'].every((one) => range.check(one))
}

/** The URL may contain a password, so the message does not repeat it. */
function problemOf(text: string): string | null {
  try {
    parseDatabaseUrl(text)
    return null
  } catch (error) {
    if (error instanceof UrlError) return error.message
    throw error
  }
}
