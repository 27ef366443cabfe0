/** Sign-ins with the hostile issuer: right and wrong callbacks, sessions that are used, repeated and ended, and logout tokens. */
import {
  codeOf,
  groups,
  type HostileIssuer,
  type IssuerAnswer,
  issuerAnswers,
  type LogoutToken,
  logoutTokens,
} from './hostile-issuer.ts'
import type { Random } from './random.ts'
import type { Sent } from './sender.ts'

const callbacks = [
  'right',
  'right',
  'right',
  'right',
  'other state',
  'no cookie',
  'cut cookie',
  'no code',
  'error',
] as const
const sequels = ['query', 'query', 'again', 'log out', 'logout token', 'none'] as const

export interface SignInInput {
  readonly kind: 'sign-in'
  readonly caller: 'admin'
  readonly way: 'browser' | 'terminal' | 'logout token'
  readonly answer: IssuerAnswer
  readonly logout: LogoutToken
  readonly callback: (typeof callbacks)[number]
  readonly sequel: (typeof sequels)[number]
  readonly group: string
  readonly subject: string
  /** Each comes from an address of its own: sign-ins are limited by address. */
  readonly address: string
}

export function randomSignIn(random: Random): SignInInput {
  return {
    ...{ kind: 'sign-in', caller: 'admin', subject: `person-${random.below(20)}` },
    way: random.choose(['browser', 'browser', 'browser', 'terminal', 'logout token'] as const),
    answer: random.choose(issuerAnswers),
    logout: random.choose(logoutTokens),
    callback: random.choose(callbacks),
    sequel: random.choose(sequels),
    group: random.choose([...groups, 'unknown', '__proto__']),
    address: `198.18.${random.below(256)}.${random.below(256)}`,
  }
}

/** Its session sees a part of the fleet, or nothing. */
export const isOfTenant = ({ group }: SignInInput): boolean => group !== 'admins' && group !== 'viewers'

const mostText = 4_000
const path = '/session/oidc'
const query =
  '{ devices { nodes { deviceId } } deployments { nodes { deploymentId device { deviceId } } } viewer: __typename }'

export async function signIn(url: string, issuer: HostileIssuer, input: SignInInput): Promise<Sent> {
  const { answer, subject, group } = input
  async function ask(route: string, init: RequestInit = {}): Promise<Sent & { readonly response: Response }> {
    const headers = { 'x-forwarded-for': input.address, 'sec-fetch-site': 'same-origin', ...init.headers }
    const response = await fetch(url + route, {
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
      ...init,
      headers,
    })
    const text = (await response.text()).slice(0, mostText)
    return { status: response.status, text, retryAfter: response.headers.get('retry-after') ?? undefined, response }
  }
  const post = (route: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(route, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  async function logOutAll(): Promise<Sent> {
    const body = new URLSearchParams({ logout_token: await issuer.logoutToken(input.logout, subject) })
    return ask(`${path}/backchannel`, { method: 'POST', body })
  }
  if (input.way === 'logout token') return logOutAll()
  if (input.way === 'terminal') {
    const begun = await post(`${path}/device`, {})
    if (begun.status !== 200) return begun
    const { handle } = JSON.parse(begun.text) as { readonly handle: string }
    return post(`${path}/device/token`, { handle: input.callback === 'cut cookie' ? handle.slice(0, -3) : handle })
  }

  const begun = await ask(`${path}/login`)
  const location = begun.response.headers.get('location')
  if (location === null) return begun
  const { searchParams } = new URL(location)
  const code = codeOf({ answer, subject, group, nonce: searchParams.get('nonce') })
  const record = cookieOf(begun.response)
  const cookie = input.callback === 'no cookie' ? '' : input.callback === 'cut cookie' ? record.slice(0, -3) : record
  const state = input.callback === 'other state' ? 'another' : (searchParams.get('state') ?? '')
  const told =
    input.callback === 'error'
      ? { error: 'access_denied', error_description: 'x'.repeat(3_000) }
      : input.callback === 'no code'
        ? {}
        : { code }
  const callback = (): ReturnType<typeof ask> =>
    ask(`${path}/callback?${new URLSearchParams({ ...told, state })}`, { headers: { cookie } })
  const ended = await callback()
  const session = cookieOf(ended.response)
  if (ended.status !== 302 || session === '') return ended
  const show = () => post('/graphql', { query }, { cookie: session, origin: url })
  switch (input.sequel) {
    case 'query':
      return show()
    case 'again':
      return callback()
    case 'log out': {
      const left = await post(`${path}/logout`, {}, { cookie: session, origin: url })
      return left.status >= 500 ? left : show()
    }
    case 'logout token': {
      const left = await logOutAll()
      return left.status >= 500 ? left : show()
    }
    default:
      return ended
  }
}

/** Its first cookie that is not taken away. */
function cookieOf(response: Response): string {
  const [pair = ''] = response.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  return pair.endsWith('=') ? '' : pair
}
