/** Who the attacker is: an administrator, callers of one tenant, and devices; or anyone where the server asks nothing. */
import { type Caller, device, hidden, type Input, type RestInput } from './inputs.ts'
import { messageDevices } from './mqtt/inputs.ts'
import { isOfTenant } from './sign-in.ts'
import { firstSinks, outsideUrl } from './sink-operations.ts'

const adminKey = 'an-admin-key-of-the-attack-only'

/** A server that asks for credentials, and limits how often one may come. */
export const closed = {
  API_AUTH: 'key',
  API_ADMIN_KEY: adminKey,
  DEVICE_AUTH: 'token',
  ADDRESS_RATE: '5000',
  DEVICE_RATE: '5000',
  // Sign-ins are limited by address.
  TRUSTED_PROXIES: '127.0.0.1',
}

interface AttackerCredentials {
  /** What lets it in; null: nothing is needed. */
  of(input: Input): string | null
  /** Whether its credential is of a tenant that does not see all. */
  isScoped(input: Input): boolean
  /** Headers of an administrator. */
  readonly ofAdmin: Readonly<Record<string, string>>
  /** Registers the devices anew. One that offboards itself is revoked, and its later requests would not reach a handler. */
  renew(): Promise<void>
  /** What does not agree with the log. */
  audit(): Promise<readonly unknown[]>
}

const register = `mutation ($input: RegisterDevicesInput!) {
  registerDevices(input: $input) { ... on RegisterDevicesSuccess { results { token } } }
}`
const createKey = `mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { ... on CreateApiKeySuccess { key } }
}`
const createSink = `mutation ($input: CreateWebhookInput!) {
  createWebhook(input: $input) { __typename }
}`
/** Routes of devices: everything else is for users and orchestrators. */
const deviceRoutes = /^\/(device|api\/v1|margo|v1alpha2|reports|git)\b/
const isOfDevice = (input: Input): input is RestInput => input.kind === 'rest' && deviceRoutes.test(input.path)

export async function createCredentials(
  url: string,
  env: Readonly<Record<string, string>>,
): Promise<AttackerCredentials> {
  const isOpen = env.API_AUTH === undefined

  const ofAdmin: Readonly<Record<string, string>> = isOpen ? {} : { authorization: `Bearer ${adminKey}` }
  // biome-ignore lint/suspicious/noExplicitAny: what it asks for, it knows.
  async function ask(query: string, variables = {}): Promise<any> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...ofAdmin },
      body: JSON.stringify({ query, variables }),
    })
    return response.json()
  }

  const tenant = (value: string) => ({ labels: [{ key: 'tenant', value }] })
  const devices = [
    { deviceId: device, ...tenant('a') },
    { deviceId: hidden, ...tenant('b') },
    ...messageDevices.map((deviceId) => ({ deviceId, ...tenant('a') })),
  ]
  const tokenOf = new Map<string, string>()
  async function registerAll(): Promise<void> {
    const { data } = await ask(register, { input: { devices } })
    const results: readonly ({ readonly token: string } | undefined)[] = data?.registerDevices?.results ?? []
    for (const [index, { deviceId }] of devices.entries()) {
      const token = results[index]?.token
      if (token !== undefined) tokenOf.set(deviceId, token)
    }
  }
  await registerAll()
  let renewing: Promise<void> | null = null
  for (let n = 0; n < firstSinks; n += 1) await ask(createSink, { input: { name: `sink ${n}`, url: outsideUrl } })
  async function scoped(role: string): Promise<string> {
    const made = await ask(createKey, { input: { name: role, roles: [role], scopes: ['label:tenant=a'] } })
    return made.data.createApiKey.key
  }
  const keys: Readonly<Record<Caller, string>> = {
    admin: adminKey,
    'scoped viewer': isOpen ? '' : await scoped('VIEWER'),
    'scoped operator': isOpen ? '' : await scoped('OPERATOR'),
  }
  return {
    ofAdmin,
    renew() {
      renewing ??= registerAll().finally(() => {
        renewing = null
      })
      return renewing
    },
    isScoped(input) {
      if (input.kind === 'sign-in') return isOfTenant(input)
      if (isOpen || isOfDevice(input) || input.kind === 'mqtt' || input.kind === 'frame') return false
      return input.caller !== 'admin'
    },
    of(input) {
      if (isOpen || input.kind === 'sign-in') return null
      if (input.kind === 'mqtt') return tokenOf.get(input.device) ?? null
      if (isOfDevice(input)) return tokenOf.get(input.path.includes(hidden) ? hidden : device) ?? null
      return input.kind === 'frame' ? adminKey : keys[input.caller]
    },
    async audit() {
      const { data, errors } = await ask('{ audit { drift { __typename } } }')
      return data?.audit.drift ?? errors ?? ['no answer']
    },
  }
}
