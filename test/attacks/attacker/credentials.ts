/** Who the attacker is: an administrator who registers one device, or anyone where the server asks nothing. */
import { device, type Input } from './inputs.ts'

const adminKey = 'an-admin-key-of-the-attack-only'

/** A server that asks for credentials, and limits how often one may come. */
export const closed = {
  API_AUTH: 'key',
  API_ADMIN_KEY: adminKey,
  DEVICE_AUTH: 'token',
  ADDRESS_RATE: '5000',
  DEVICE_RATE: '5000',
}

export interface AttackerCredentials {
  /** What lets it in; null: nothing is needed. */
  of(input: Input): string | null
  /** What does not agree with the log. */
  audit(): Promise<readonly unknown[]>
}

const register = `mutation ($input: RegisterDevicesInput!) {
  registerDevices(input: $input) { ... on RegisterDevicesSuccess { results { token } } }
}`
/** Routes of devices: everything else is for users and orchestrators. */
const deviceRoutes = /^\/(device|api\/v1|margo|v1alpha2|reports|git)\b/

export async function createCredentials(
  url: string,
  env: Readonly<Record<string, string>>,
): Promise<AttackerCredentials> {
  const isOpen = env.API_AUTH === undefined

  // biome-ignore lint/suspicious/noExplicitAny: what it asks for, it knows.
  async function ask(query: string, variables = {}): Promise<any> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(isOpen ? {} : { authorization: `Bearer ${adminKey}` }) },
      body: JSON.stringify({ query, variables }),
    })
    return response.json()
  }

  const { data } = await ask(register, { input: { devices: [{ deviceId: device }] } })
  const token: string = data.registerDevices.results[0].token
  return {
    of: (input) => (isOpen ? null : input.kind === 'rest' && deviceRoutes.test(input.path) ? token : adminKey),
    async audit() {
      const { data, errors } = await ask('{ audit { drift { __typename } } }')
      return data?.audit.drift ?? errors ?? ['no answer']
    },
  }
}
