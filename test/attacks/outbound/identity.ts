/** A good identity service, and two clients with X.509-SVIDs: one of its authority, and one of a stranger's, whom no answer may make a client. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { clientCert, createCertificates } from '../../auth/devices/certificates.ts'
import { bundleOf, issueSvid } from '../../auth/identity/svids.ts'

export interface Identity {
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  /** What a proxy forwards of them. */
  readonly known: Readonly<Record<string, string>>
  readonly stranger: Readonly<Record<string, string>>
  stop(): Promise<void>
}

const trustDomain = 'factory.example'

/** `client`: their name. */
export async function startIdentity(client: string): Promise<Identity> {
  const certificates = await createCertificates()
  const [ours, others] = [await certificates.authority('devices'), await certificates.authority('devices')]
  const id = `spiffe://${trustDomain}/margo/wfm/plant/client/${client}`
  const server = createServer(({ url }, response) => {
    const isBundle = url === '/bundle.json'
    const trustBundleUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bundle.json`
    // The hint is below the least interval, so the server asks as often as it ever does.
    const answer = isBundle ? { ...bundleOf(7, ours), spiffe_refresh_hint: 1 } : { trustDomain, trustBundleUri }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    env: { SPIFFE_ID: `spiffe://${trustDomain}/margo/wfm/plant`, CLIENT_CERT_HEADER: 'overwritten' },
    known: clientCert(await issueSvid(ours, id)),
    stranger: clientCert(await issueSvid(others, id)),
    async stop() {
      await certificates.remove()
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
    },
  }
}
