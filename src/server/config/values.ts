/** Types of variables: each parses the text, or names the accepted values. */
import { z } from 'zod'
import { logLevels } from '../../platform/log/log.ts'

export const port = setting('a port from 0 to 65535 (0 picks a free port)', (text) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : null,
)
/** At most a hundred years: longer than any history, and now minus it is still a valid date. */
export const days = setting('a number of days greater than 0 and at most 36500', (text) =>
  /^\d{1,5}(\.\d+)?$/.test(text) && Number(text) > 0 && Number(text) <= 36_500 ? Number(text) : null,
)
export const seconds = setting('a whole number of seconds from 1 to 2147483647', (text) =>
  /^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= 2_147_483_647 ? Number(text) : null,
)
export const skew = setting('a whole number of seconds from 0 to 600', (text) =>
  /^\d{1,3}$/.test(text) && Number(text) <= 600 ? Number(text) : null,
)
export const signatureWindow = setting('a whole number of seconds from 1 to 86400', (text) =>
  isNumber(text, 1, 86_400) ? Number(text) : null,
)
export const trustDomains = setting('trust domains such as fleet.example, separated by commas', (text) => {
  const list = listOf(text)
  return list.every((domain) => /^[a-z0-9._-]{1,255}$/.test(domain)) ? list : null
})
export const factor = setting('a number from 1 to 1000, or off', (text) =>
  text === 'off' || (/^\d{1,4}(\.\d+)?$/.test(text) && Number(text) >= 1 && Number(text) <= 1_000) ? text : null,
)
export const secondsOrOff = setting('a whole number of seconds from 1 to 2147483647, or off', (text) =>
  text === 'off' || (/^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= 2_147_483_647) ? text : null,
)
const flags = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])
export const flag = setting('true or false', (text) => flags.get(text.toLowerCase()) ?? null)
export const logLevel = setting(
  `one of ${logLevels.join(', ')}`,
  (text) => logLevels.find((level) => level === text) ?? null,
)
export const durability = setting('full or relaxed', (text) => (text === 'full' || text === 'relaxed' ? text : null))
export const oidcScopes = setting('scopes separated by spaces, with openid', (text) =>
  /^[\x21\x23-\x5b\x5d-\x7e]+( +[\x21\x23-\x5b\x5d-\x7e]+)*$/.test(text) && text.split(' ').includes('openid')
    ? text
    : null,
)
export const tenants = setting('IDs of tenants of Entra ID, separated by commas', (text) => {
  const list = listOf(text).map((tenant) => tenant.toLowerCase())
  return list.length > 0 && list.every((tenant) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(tenant))
    ? list
    : null
})
export const certificateHeader = setting('overwritten or refused', (text) =>
  text === 'overwritten' || text === 'refused' ? text : null,
)
export const rate = setting('a number of requests a second from 1 to 1000000, or off', (text) =>
  text === 'off' || isNumber(text, 1, 1_000_000) ? text : null,
)
export const streams = setting('a whole number from 1 to 1000000, or off', (text) =>
  text === 'off' || isNumber(text, 1, 1_000_000) ? text : null,
)
export const mebibytes = setting('a whole number of MiB from 128 to 1000000', (text) =>
  isNumber(text, 128, 1_000_000) ? Number(text) : null,
)
export const processes = setting('a whole number from 1 to 1000', (text) =>
  isNumber(text, 1, 1_000) ? Number(text) : null,
)
export const metricsRollouts = setting('a whole number from 0 to 1000', (text) =>
  isNumber(text, 0, 1_000) ? Number(text) : null,
)
export const depth = setting('a whole number from 5 to 50', (text) => (isNumber(text, 5, 50) ? Number(text) : null))
export const cost = setting('a whole number from 1000 to 100000000', (text) =>
  isNumber(text, 1_000, 100_000_000) ? Number(text) : null,
)
export const operationSeconds = setting('a whole number of seconds from 1 to 600', (text) =>
  isNumber(text, 1, 600) ? Number(text) : null,
)
/** Sent in a header of HTTP. */
export const headerText = setting('printable ASCII characters', (text) => (/^[\x20-\x7e]+$/.test(text) ? text : null))
export const aaiVersion = setting('a version from 24 to 99', (text) =>
  /^v?\d{2}$/.test(text) && Number(text.replace('v', '')) >= 24 ? Number(text.replace('v', '')) : null,
)
export const clusters = setting(
  'distinct clusters such as provider+name=context, separated by commas, each context from the kubeconfig',
  (text) => {
    const list = listOf(text).map((entry) => {
      const [, provider = '', name = '', context = null] = /^([^+=]{1,256})\+([^=]{1,256})(?:=(.+))?$/.exec(entry) ?? []
      return { provider, name, context }
    })
    const names = new Set(list.map(({ provider, name }) => `${provider}+${name}`))
    return names.size === list.length && list.every(({ name }) => name !== '') ? list : null
  },
)
export const readLag = setting('a whole number of seconds from 3 to 3600', (text) =>
  isNumber(text, 3, 3_600) ? Number(text) : null,
)

export function anyOf<Method extends string>(offered: readonly Method[]) {
  const known = offered.map((method) => `"${method}"`).join(', ')
  const expected = offered.length > 1 ? `any of ${known}` : known
  return z.string().transform((text, context): readonly Method[] => {
    const methods = listOf(text)
    if (methods.length === 0) context.addIssue(`must be ${expected}, but is ${JSON.stringify(text)}`)
    return methods.flatMap((method) => {
      const found = offered.find((one) => one === method)
      if (found !== undefined) return [found]
      context.addIssue(`must be ${expected}, but is "${method}"`)
      return []
    })
  })
}

/** The message does not repeat the value. */
export function secret(length: number) {
  return z.string().refine((text) => text.length >= length, { error: `must have at least ${length} characters` })
}

export function setting<T>(expected: string, parse: (text: string) => T | null) {
  return z.string().transform((text, context): T => {
    const value = parse(text)
    if (value !== null) return value
    // The log must not hold a password.
    const isSecret = /:\/\/[^/]*@/.test(text)
    context.addIssue(`must be ${expected}, but ${isSecret ? 'it names a user' : `is ${JSON.stringify(text)}`}`)
    return z.NEVER
  })
}

export function freeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freeze(part)
  return Object.freeze(value)
}

export function numberUnlessOff(text: string): number | null {
  return text === 'off' ? null : Number(text)
}

export function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function isNumber(text: string, least: number, most: number): boolean {
  return /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most
}
