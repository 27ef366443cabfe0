/** Where API_AUTH asks who looks: nothing is shown before, everything after, and nothing again. */
import { expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { documentOf } from '../../support/clients/desired.ts'
import { countOf, expectNone, expectShown, expectStill, inElement, inPage, urlOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startApp } from '../../support/servers/app.ts'
import { startIssuer } from '../../support/systems/issuer.ts'

const key = 'an-admin-key-for-tests-only'

it.runIf(findChromium())('signs in with a key, reads and follows, signs out', async () => {
  const server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: key } })
  onTestFinished(() => server.stop())
  const report = (state: string): Promise<Response> =>
    server.post('/device/edge-1/deployment/secret/status', {
      deploymentId: 'secret',
      status: { state },
      components: [],
    })
  await report('installing')
  const browser = await sharedBrowser()
  const { page, complaints, close } = await openPage(browser, `${server.url}/#/deployments`)
  onTestFinished(close)

  const field = page.getByLabel('API key or token')
  await field.fill('a-key-that-was-never-issued')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('the key is refused').waitFor()
  // What waits for an answer keeps the focus.
  await expectShown(inPage(page, () => document.activeElement?.textContent)).toBe('Sign in')
  await expectNone(page.getByText('secret'), page.getByRole('alert').getByText('the key is refused'))

  await field.fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const row = page.getByRole('row', { name: /secret/ })
  await row.getByText('Installing', { exact: true }).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  // No script can read what the browser shows for it.
  await expectShown(inPage(page, () => document.cookie)).toBe('')
  const known = complaints.length
  await report('installed')
  await row.getByText('Installed', { exact: true }).waitFor()
  await page.reload()
  await row.getByText('Installed', { exact: true }).waitFor()
  expect(complaints.slice(known)).toEqual([])

  await page.getByRole('button', { name: 'Sign out' }).click()
  await expectNone(page.getByText('secret'), field)
  await expect.poll(() => page.context().cookies()).toEqual([])
})

it.runIf(isWhole && findChromium())(
  'keeps the parts of the header apart at every width, with “Sign out” and the longest status',
  async () => {
    const server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: key } })
    onTestFinished(() => server.stop())
    const { page, close } = await openPage(await sharedBrowser(), `${server.url}/`)
    onTestFinished(close)
    await page.getByLabel('API key or token').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Set-up' }).waitFor()
    await server.stop()
    await page.getByText('Disconnected', { exact: true }).waitFor()
    for (let width = 360; width <= 1440; width += 20) {
      await page.setViewportSize({ width, height: 900 })
      const wrong = inElement(page.locator('.top'), (top) => {
        const parts = [...top.querySelectorAll(':scope > :not(nav), nav a')]
        const overlaps = parts.flatMap((part, index) => {
          const a = part.getBoundingClientRect()
          return parts.slice(index + 1).flatMap((other) => {
            const b = other.getBoundingClientRect()
            const isApart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top
            return isApart ? [] : [`${part.textContent} and ${other.textContent}`]
          })
        })
        const frame = top.getBoundingClientRect()
        const isInside = ({ top, bottom }: DOMRect): boolean => top >= frame.top && bottom <= frame.bottom
        const cut = [...top.children].filter((part) => !isInside(part.getBoundingClientRect()))
        return [...overlaps, ...cut.map(({ outerHTML }) => `cut: ${outerHTML}`)]
      })
      await expectStill(wrong, `${width} pixels`).toEqual([])
    }
  },
)

it.runIf(isWhole && findChromium())(
  'says of what a caller with an access scope does not find that it may be outside',
  async () => {
    const server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: key } })
    onTestFinished(() => server.stop())
    await server.post('/device/edge-1/deployment/hidden/status', {
      deploymentId: 'hidden',
      status: { state: 'installed' },
      components: [],
    })
    const query =
      'mutation { createApiKey(input: { name: "tenant", roles: [VIEWER], scopes: ["label:site=munich"] }) { ... on CreateApiKeySuccess { key } } }'
    const made = await server.post('/graphql', { query }, { authorization: `Bearer ${key}` })
    const { data } = (await made.json()) as { data: { createApiKey: { key: string } } }
    const { page, close } = await openPage(await sharedBrowser(), `${server.url}/device/edge-1`)
    onTestFinished(close)
    await page.getByLabel('API key or token').fill(data.createApiKey.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    for (const address of ['device/edge-1', 'deployment/edge-1/hidden', 'rollout/none', 'resource/none']) {
      await page.goto(`${server.url}/${address}`)
      await page.getByText('or it is outside the part of the fleet that you can see').waitFor()
    }
    await page.goto(`${server.url}/`)
    await page.getByText('No reports yet in the part of the fleet that you can see.').waitFor()
  },
)

it.runIf(findChromium())('shows who may not read documents everything but them, and says so', async () => {
  const server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: key } })
  onTestFinished(() => server.stop())
  const ask = async (query: string, variables: object = {}) => {
    const response = await server.post('/graphql', { query, variables }, { authorization: `Bearer ${key}` })
    return ((await response.json()) as { data: Record<string, { key?: string }> }).data
  }
  await ask(
    `mutation ($document: String!) { declareDeployments(input: { reason: "as agreed", deployments: [
      { deviceId: "edge-1", deploymentId: "meant", document: $document }
    ] }) { __typename } }`,
    { document: documentOf('meant', '7.7.7') },
  )
  const made = await ask(
    'mutation { createApiKey(input: { name: "reader", roles: [VIEWER] }) { ... on CreateApiKeySuccess { key } } }',
  )
  const browser = await sharedBrowser()
  for (const [credential, shown] of [
    [made.createApiKey?.key ?? '', 'Only operators can read documents.'],
    [key, '7.7.7'],
  ] as const) {
    const { page, close } = await openPage(browser, `${server.url}/#/deployment/edge-1/meant`)
    await page.getByLabel('API key or token').fill(credential)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const panel = page.getByRole('region', { name: 'Desired state' })
    await panel.getByText(/^Declared by \S+.*as agreed/).waitFor()
    await panel.getByText(shown).waitFor()
    await expectShown(countOf(panel.getByText('7.7.7'))).toBe(shown === '7.7.7' ? 1 : 0)
    // Only operators are offered what only they may do.
    await page.goto(`${server.url}/deployments`)
    await page.getByRole('row', { name: /meant/ }).waitFor()
    await page.waitForLoadState('networkidle')
    await expectShown(countOf(page.getByRole('checkbox'))).toBe(shown === '7.7.7' ? 1 : 0)
    await close()
  }
})

it.runIf(findChromium())(
  'signs persons in with the issuer, follows their rights, and signs them out there too',
  async () => {
    const issuer = await startIssuer({ groups: { ada: ['operators', 'alpha'] } })
    let now = Date.now()
    const server = await startApp({ env: { ...issuer.env, OIDC_NAME: 'the plant' }, clock: () => now })
    onTestFinished(async () => {
      await server.stop()
      await issuer.stop()
    })
    issuer.serve(server.url)
    await server.post('/device/edge-1/deployment/secret/status', {
      deploymentId: 'secret',
      status: { state: 'installed' },
      components: [],
    })
    const { page, close } = await openPage(await sharedBrowser(), `${server.url}/deployments?state=INSTALLED`)
    onTestFinished(close)
    // The pages of the issuer ask for fonts of the network.
    await page.route(/googleapis/, (route) => route.abort())
    const link = page.getByRole('link', { name: 'Sign in with the plant' })
    // Without API_AUTH, no key is accepted.
    await expectNone(page.getByLabel('API key or token'), link)
    await expectNone(page.getByText('secret'), link)
    const signIn = async (isNew: boolean): Promise<void> => {
      await link.click()
      if (!isNew) return
      await page.getByPlaceholder('Enter any login').fill('ada')
      await page.getByPlaceholder('and password').fill('any')
      await page.getByRole('button', { name: 'Sign-in' }).click()
    }
    await signIn(true)
    const row = page.getByRole('row', { name: /secret/ })
    await row.waitFor()
    await expectShown(urlOf(page)).toBe(`${server.url}/deployments?state=INSTALLED`)
    await page.getByText('Live', { exact: true }).waitFor()
    await expectShown(inPage(page, () => document.cookie)).toBe('')

    // The person loses a group: what the page shows is outside the remaining scope.
    issuer.groups.set('ada', ['alpha'])
    now += 7 * 60_000
    await row.waitFor({ state: 'detached' })
    await page.getByText('Live', { exact: true }).waitFor()

    // The person loses all groups.
    issuer.groups.set('ada', [])
    now += 7 * 60_000
    await link.waitFor()
    await signIn(false)
    await page.getByRole('alert').getByText('is in no group that has a role here').waitFor()
    issuer.groups.set('ada', ['viewers'])
    await page.getByRole('link', { name: 'Back to Rollcall' }).click()
    await signIn(false)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await link.waitFor()
    await expectShown(urlOf(page)).toMatch(new RegExp(`^${server.url}/`))
    await link.click()
    await page.getByPlaceholder('Enter any login').waitFor()
  },
)
