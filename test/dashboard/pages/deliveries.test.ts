/** What the set-up says of a receiver: its latest deliveries, and why it gets none. */
import { beforeAll, describe, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { countOf, expectShown, look } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startApp } from '../../support/servers/app.ts'
import { startReceiver } from '../../support/systems/receiver.ts'
import { send } from '../harness.ts'

describe.runIf(findChromium())('a receiver in the set-up', () => {
  let browser: Awaited<ReturnType<typeof sharedBrowser>>
  beforeAll(async () => {
    browser = await sharedBrowser()
  })

  it('has deliveries that follow while they are open, and that say why they are not there', async () => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const server = await startApp({ env: { SINK_ALLOW: '127.0.0.1' } })
    onTestFinished(() => server.stop())
    await server.query(
      `mutation ($url: String!) { createWebhook(input: { name: "pager", url: $url, filter: { to: [FAILED] } }) { __typename } }`,
      { url: receiver.url },
    )
    const { page, close } = await openPage(browser, `${server.url}/setup/notifications`)
    onTestFinished(close)
    await page.clock.install()
    const latest = page.getByRole('group').filter({ hasText: 'Latest deliveries' })
    await latest.getByText('Latest deliveries').click()
    await latest.getByText('None yet.').waitFor()

    await send(server.url, 'oven-1', 'bread', 'failed')
    // Deliveries are no changes of the log: the page asks for them again as time passes.
    const next = look(page, async () => {
      await page.clock.fastForward(5_000)
      return countOf(latest.getByRole('listitem')).take()
    })
    const following = (count: number): Promise<void> => expectShown(next).toBe(count)
    await following(1)
    await send(server.url, 'oven-2', 'bread', 'failed')
    await following(2)

    await page.route('**/graphql', (route) =>
      /query Deliveries/.test(route.request().postData() ?? '') ? route.abort() : route.fallback(),
    )
    await page.clock.fastForward(5_000)
    await latest.getByRole('alert').getByText("Can't reach the server").waitFor()
    await expectShown(countOf(latest.getByRole('listitem'))).toBe(2)
  })

  it.runIf(isWhole)('that cannot be reached has the reason in words, and when it is tried again', async () => {
    const receiver = await startReceiver()
    await receiver.close()
    const server = await startApp({ env: { SINK_ALLOW: '127.0.0.1' } })
    onTestFinished(() => server.stop())
    await server.query(
      `mutation ($url: String!) { createWebhook(input: { name: "pager", url: $url }) { __typename } }`,
      { url: receiver.url },
    )
    await send(server.url, 'oven-1', 'bread', 'failed')
    const { page, close } = await openPage(browser, `${server.url}/setup/notifications`)
    onTestFinished(close)
    const line = page.getByRole('listitem').filter({ hasText: 'pager' })
    await line.getByText(/nothing listens at its address \(ECONNREFUSED\) .*, next try in \d+ (s|min)$/).waitFor()
    await page.getByRole('button', { name: 'Test pager' }).click()
    await page.getByText('Test not accepted: nothing listens at its address (ECONNREFUSED)').waitFor()
  })
})
