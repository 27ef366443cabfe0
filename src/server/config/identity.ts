/** The variables that name an identity service, and this server's own identity. */
import { z } from 'zod'
import type { TrustConfig } from '../../api/auth/identity/trust.ts'
import { isOfServer } from './addresses.ts'
import { listOf, setting } from './values.ts'

type Environment = Readonly<Record<string, string | undefined>>

const services = setting(
  'an https URL, or trust domains with one each, such as factory.example=https://mis.factory.example, separated by commas',
  (text) => {
    const list = listOf(text).map((entry) => {
      const [, trustDomain = null, url = ''] = /^(?:([a-z0-9._-]{1,255})=)?(https:\/\/.+)$/.exec(entry) ?? []
      return { trustDomain, url }
    })
    const names = new Set(list.map(({ trustDomain }) => trustDomain))
    const isClear = list.length === 1 || (list.length > 1 && names.size === list.length && !names.has(null))
    return isClear && list.every(({ url }) => isOfServer(URL.parse(url), /^https:$/)) ? list : null
  },
)
const serverIds = setting(
  'SPIFFE ids such as spiffe://factory.example/margo/wfm/plant-1, separated by commas',
  (text) => {
    const list = listOf(text)
    const form = /^spiffe:\/\/[a-z0-9._-]{1,255}\/margo\/wfm\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,256}$/
    return list.length > 0 && list.every((id) => form.test(id)) ? list : null
  },
)
const tlsVersion = setting('1.2 or 1.3', (text) => (text === '1.2' || text === '1.3' ? text : null))

export const identityVariables = {
  IDENTITY_SERVICE: services.nullable().default(null),
  IDENTITY_SERVICE_CA: z.string().nullable().default(null),
  IDENTITY_DIRECTORY: z.string().default('./identity'),
  SPIFFE_ID: serverIds.nullable().default(null),
  ADMITTED_CLIENTS: z.string().nullable().default(null),
  TLS_MIN_VERSION: tlsVersion.optional(),
}

type Given = z.infer<z.ZodObject<typeof identityVariables>>

export function identityConfig(v: Given): TrustConfig | null {
  if (v.IDENTITY_SERVICE === null) return null
  return {
    sources: v.IDENTITY_SERVICE,
    ca: v.IDENTITY_SERVICE_CA,
    ids: v.SPIFFE_ID,
    directory: v.IDENTITY_DIRECTORY,
    admitted: v.ADMITTED_CLIENTS,
  }
}

/** Margo's profile has TLS 1.3 as the default, and allows 1.2 where an operator chooses it. */
export function minVersionOf(v: Given): 'TLSv1.2' | 'TLSv1.3' {
  return (v.TLS_MIN_VERSION ?? (v.IDENTITY_SERVICE === null ? '1.2' : '1.3')) === '1.3' ? 'TLSv1.3' : 'TLSv1.2'
}

export function identityProblems(given: Environment, methods: readonly string[]): string[] {
  const has = (name: string): boolean => given[name] !== undefined
  const problems =
    has('TLS_MIN_VERSION') && !has('TLS_CERT') ? ['TLS_MIN_VERSION has no effect without TLS_CERT and TLS_KEY'] : []
  if (!has('IDENTITY_SERVICE')) {
    const names = ['IDENTITY_SERVICE_CA', 'IDENTITY_DIRECTORY', 'SPIFFE_ID', 'ADMITTED_CLIENTS'].filter(has)
    return [...problems, ...names.map((name) => `${name} has no effect without IDENTITY_SERVICE`)]
  }
  if (!methods.includes('mtls')) problems.push('IDENTITY_SERVICE has no effect unless DEVICE_AUTH has "mtls"')
  for (const name of ['TLS_CLIENT_CA', 'SPIFFE_TRUST_DOMAIN'])
    if (has(name)) problems.push(`${name} has no effect with IDENTITY_SERVICE, which names the authorities: remove it`)
  if (!has('TLS_CERT') && !has('SPIFFE_ID'))
    problems.push('SPIFFE_ID is required by IDENTITY_SERVICE without TLS_CERT: clients belong to the WFM that it names')
  const domains = listOf(given.SPIFFE_ID ?? '').map((id) => id.split('/')[2])
  for (const [, domain = ''] of (given.IDENTITY_SERVICE ?? '').matchAll(/(?:^|,)\s*([a-z0-9._-]+)=/g))
    if (has('SPIFFE_ID') && !domains.includes(domain))
      problems.push(`IDENTITY_SERVICE names the trust domain ${domain}, in which SPIFFE_ID has no identity`)
  return problems
}
