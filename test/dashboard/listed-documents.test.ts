/** Where only listed documents are executed, the page still shows everything: its own are listed without being named. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../support/clients/browser.ts'
import { documentOf } from '../support/clients/desired.ts'
import { doInPage, expectShown, inPage } from '../support/clients/shown.ts'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { startApp } from '../support/servers/app.ts'
import { newContext, newGroup, shownDeployment } from '../support/systems/emco.ts'

declare global {
  interface Window {
    answers: Promise<{ errors?: string[] }>[]
  }
}

const declaration = `mutation Declare($document: String!) {
  declareDeployments(input: { deployments: [{ deviceId: "edge-1", deploymentId: "meant", document: $document }] }) { __typename }
}`

it.runIf(isWhole && findChromium())('shows every page, and the past', async () => {
  const PERSISTED_DOCUMENTS = join(temporaryFolder(), 'documents.json')
  const ids = 'query Ids { rollouts { nodes { id } } resources { nodes { id } } }'
  writeFileSync(PERSISTED_DOCUMENTS, JSON.stringify([ids, declaration]))
  const server = await startApp({ env: { PERSISTED_DOCUMENTS } })
  onTestFinished(() => server.stop())
  const emco = newGroup(server)
  const context = newContext()
  await emco.act('Created', 'Approved', `Instantiated ${context}`)
  await emco.apply(context, [{ name: 'sink' }])
  await emco.show(context, { deploymentStatuses: [shownDeployment('sink', false)] })
  await server.post('/device/edge-1/deployment/d/status', {
    deploymentId: 'd',
    status: { state: 'installing' },
    components: [],
  })
  expect((await server.post('/graphql', { query: declaration, variables: { document: documentOf('meant') } })).ok).toBe(
    true,
  )
  await expect(server.query('{ revision }')).rejects.toThrow('this server executes only listed documents')
  const { rollouts, resources } = await server.query(ids)
  const browser = await sharedBrowser()
  const viewport = { width: 1280, height: 2_600 }
  const { page, complaints, close } = await openPage(browser, `${server.url}/`, { viewport })
  onTestFinished(close)
  const refused: string[] = []
  // Read by the page itself: the browser drops the body of an answer that the page has left.
  await page.addInitScript(() => {
    const { fetch } = window
    window.answers = []
    window.fetch = async (...request) => {
      const response = await fetch(...request)
      const givenUp = () => ({})
      window.answers.push(response.clone().json().catch(givenUp))
      return response
    }
  })
  page.on('websocket', (socket) => {
    socket.on('framereceived', ({ payload }) => {
      if (JSON.parse(String(payload)).type === 'error') refused.push(String(payload))
    })
  })
  await page.reload()
  const group = rollouts.nodes.at(-1)
  const pages: readonly (readonly [string, string])[] = [
    ['#/', '.rollouts li'],
    ['#/', '[aria-labelledby="resources"]'],
    ['#/rollouts', '.rollouts li'],
    [`#/rollout/${group.id}`, '.causes li'],
    [`#/rollout/${group.id}`, '.resources .row'],
    ['#/deployments', '.table .row'],
    ['#/deployment/edge-1/d', '.swimlanes svg'],
    ['#/deployment/edge-1/meant', '.diff tr'],
    ['#/devices', '.table .row'],
    ['#/device/edge-1', '.manifests li'],
    ['#/resources', '.table .row'],
    [`#/resource/${resources.nodes[0].id}`, 'pre'],
    ['#/feed', '.table .row'],
    [`#/?at=${new Date().toISOString()}`, '.rollouts li'],
  ]
  for (const [hash, drawn] of pages) {
    await doInPage(page, (address) => location.assign(address), hash)
    await page.locator(drawn).first().waitFor()
  }
  const errors = inPage(page, async () => (await Promise.all(window.answers)).flatMap((it) => it.errors ?? []))
  await expectShown(errors).toEqual([])
  expect({ refused, complaints }).toEqual({ refused: [], complaints: [] })
})
