/** A refusal asks for a credential that the server accepts. */
import { expect, it, onTestFinished } from 'vitest'
import { startApp } from '../../support/servers/app.ts'
import { startIssuer } from '../../support/systems/issuer.ts'

const forPrograms = /^a credential is needed: send Authorization: Bearer, or X-API-Key$/
const forPersons = /^a session is needed: sign in on the page, .* Programs need API_AUTH=key or jwt on the server$/

it.each([
  { methods: undefined, none: forPersons, unknown: /^keys and tokens are not accepted: sign in on the page/ },
  { methods: 'key', none: forPrograms, unknown: /^the key is refused: it is unknown/ },
])('with API_AUTH=$methods and an issuer', async ({ methods, none, unknown }) => {
  const issuer = await startIssuer()
  const server = await startApp({ env: { ...issuer.env, ...(methods && { API_AUTH: methods }) } })
  onTestFinished(async () => {
    await server.stop()
    await issuer.stop()
  })
  const ask = async (headers: Record<string, string>) => {
    const answer = await fetch(`${server.url}/metrics`, { headers })
    return { status: answer.status, detail: (await answer.json()).detail }
  }
  expect(await ask({})).toEqual({ status: 401, detail: expect.stringMatching(none) })
  expect(await ask({ 'x-api-key': 'unknown' })).toEqual({ status: 401, detail: expect.stringMatching(unknown) })
})
