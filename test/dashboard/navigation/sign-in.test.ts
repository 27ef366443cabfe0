/** Where API_AUTH asks who looks: nothing is shown before, everything after, and nothing again. */
import { expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { documentOf } from '../../support/clients/desired.ts'
import { startApp } from '../../support/servers/app.ts'
import { startIssuer } from '../../support/systems/issuer.ts'

const key = 'an-admin-key-for-tests-only'

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
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
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Sign in')
  expect(await page.getByText('secret').count()).toBe(0)

  await field.fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const row = page.getByRole('row', { name: /secret/ })
  await row.getByText('Installing', { exact: true }).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  // No script can read what the browser shows for it.
  expect(await page.evaluate(() => document.cookie)).toBe('')
  const known = complaints.length
  await report('installed')
  await row.getByText('Installed', { exact: true }).waitFor()
  await page.reload()
  await row.getByText('Installed', { exact: true }).waitFor()
  expect(complaints.slice(known)).toEqual([])

  await page.getByRole('button', { name: 'Sign out' }).click()
  await field.waitFor()
  expect(await page.getByText('secret').count()).toBe(0)
  expect(await page.context().cookies()).toEqual([])
})

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
it.runIf(findChromium())(
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
      const overlaps = await page.locator('.top > :not(nav), .top nav a').evaluateAll((parts) =>
        parts.flatMap((part, index) => {
          const a = part.getBoundingClientRect()
          return parts.slice(index + 1).flatMap((other) => {
            const b = other.getBoundingClientRect()
            const isApart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top
            return isApart ? [] : [`${part.textContent} and ${other.textContent}`]
          })
        }),
      )
      const cut = await page.locator('.top').evaluate((top) => {
        const frame = top.getBoundingClientRect()
        const isInside = ({ top, bottom }: DOMRect): boolean => top >= frame.top && bottom <= frame.bottom
        return [...top.children].flatMap((part) => (isInside(part.getBoundingClientRect()) ? [] : [part.outerHTML]))
      })
      expect({ width, overlaps, cut }).toEqual({ width, overlaps: [], cut: [] })
    }
  },
)

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
it.runIf(findChromium())(
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

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
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
    expect(await panel.getByText('7.7.7').count()).toBe(shown === '7.7.7' ? 1 : 0)
    // Only operators are offered what only they may do.
    await page.goto(`${server.url}/deployments`)
    await page.getByRole('row', { name: /meant/ }).waitFor()
    await page.waitForLoadState('networkidle')
    expect(await page.getByRole('checkbox').count()).toBe(shown === '7.7.7' ? 1 : 0)
    await close()
  }
})

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
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
    await link.waitFor()
    // Without API_AUTH, no key is accepted.
    expect(await page.getByLabel('API key or token').count()).toBe(0)
    expect(await page.getByText('secret').count()).toBe(0)
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
    expect(page.url()).toBe(`${server.url}/deployments?state=INSTALLED`)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await page.evaluate(() => document.cookie)).toBe('')

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
    expect(new URL(page.url()).origin).toBe(server.url)
    await link.click()
    await page.getByPlaceholder('Enter any login').waitFor()
  },
)
