/** The frame around all pages: navigation, search, connection status, colour theme. */
import { computed } from '@preact/signals'
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks'
import { connections, findSession, isSignedOut, session, signOut } from './data/api.ts'
import { graphql } from './data/graphql.ts'
import { plural } from './data/labels.ts'
import { isOutdated } from './data/loading.ts'
import { useLiveAnswer, useStream } from './data/use-query.ts'
import { isOperator, scopes } from './data/viewer.ts'
import { DeploymentPage } from './pages/deployment.tsx'
import { DeploymentsPage } from './pages/deployments.tsx'
import { DevicePage } from './pages/device.tsx'
import { DevicesPage } from './pages/devices.tsx'
import { FeedPage } from './pages/feed.tsx'
import { NodePage } from './pages/node.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { ResourcePage } from './pages/resource.tsx'
import { ResourcesPage } from './pages/resources.tsx'
import { RolloutPage } from './pages/rollout.tsx'
import { RolloutsPage } from './pages/rollouts.tsx'
import { SetupPage } from './pages/setup/setup.tsx'
import { isReturning } from './position.ts'
import { href, route } from './route.ts'
import { Search } from './search.tsx'
import { SignIn } from './sign-in.tsx'
import { Notices, Status } from './status.tsx'
import './widgets/focus.ts'
import { failing, pageTitle } from './widgets/tab.ts'
import { chooseTheme, type Theme, theme } from './widgets/theme.ts'
import { TimeBar } from './widgets/time-bar.tsx'

interface PageEntry {
  readonly title: string
  readonly page: ComponentType<{ readonly steps: readonly string[] }>
  /** The navigation link that is marked as current. */
  readonly under: string
  /** The page is the same at any chosen time. */
  readonly isTimeless?: boolean
  /** The address ends with an opaque id, which is left out of the title. */
  readonly isOpaque?: boolean
}

const pages: Readonly<Record<string, PageEntry>> = {
  '': { title: 'Overview', page: OverviewPage, under: '' },
  rollouts: { title: 'Rollouts', page: RolloutsPage, under: 'rollouts' },
  rollout: { title: 'Rollout', page: RolloutPage, under: 'rollouts', isOpaque: true },
  deployments: { title: 'Deployments', page: DeploymentsPage, under: 'deployments' },
  deployment: { title: 'Deployment', page: DeploymentPage, under: 'deployments' },
  devices: { title: 'Devices', page: DevicesPage, under: 'devices' },
  device: { title: 'Device', page: DevicePage, under: 'devices' },
  resources: { title: 'Resources', page: ResourcesPage, under: 'resources' },
  resource: { title: 'Resource', page: ResourcePage, under: 'resources', isOpaque: true },
  node: { title: 'Loading', page: NodePage, under: '', isOpaque: true },
  feed: { title: 'Feed', page: FeedPage, under: 'feed' },
  setup: { title: 'Set-up', page: SetupPage, under: 'setup', isOpaque: true, isTimeless: true },
}

const links = ['', 'rollouts', 'deployments', 'devices', 'resources', 'feed'] as const

/** As a signal, so that the frame is not drawn again. */
const freshness = computed(() => (isOutdated.value ? 'outdated' : ''))

export function App() {
  const [name = '', ...steps] = route.value.path
  const entry: PageEntry = pages[name] ?? { title: 'Not found', page: NotFound, under: '', isOpaque: true }
  const place = route.value.path.join('/')
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const title = [entry.isOpaque ? null : steps.at(-1), entry.title].filter(Boolean).join(' · ')
  useEffect(() => {
    // Keyboard and screen-reader users continue at the top of the new page.
    if (!isFirst.current) {
      if (!isReturning()) scrollTo(0, 0)
      main.current?.focus({ preventScroll: true })
    }
    isFirst.current = false
  }, [place])
  useEffect(() => {
    pageTitle.value = title
  }, [title])
  useEffect(() => void findSession(), [connections.value])
  if (isSignedOut.value) return <SignIn />
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <a class="brand" href={href([])}>
          <Logo />
          Rollcall
        </a>
        <nav aria-label="Pages">
          {links.map((link) => (
            <a
              key={link}
              href={href(link === '' ? [] : [link])}
              aria-current={entry.under === link ? 'page' : undefined}
            >
              {pages[link]?.title}
              {link === '' && <Firing />}
            </a>
          ))}
        </nav>
        <Search />
        <Status />
        {session.value?.isSession && (
          <button
            type="button"
            class="quiet sign-out"
            title={`Signed in as ${session.value.name}`}
            onClick={() => void signOut()}
          >
            Sign out
          </button>
        )}
        {isOperator.value && <SetupLink isCurrent={entry.under === 'setup'} />}
        <ThemeChoice />
      </header>
      <Notices />
      <Failing />
      <main id="main" class={freshness} tabIndex={-1} ref={main}>
        {scopes.value.length > 0 && <p class="scope">You see a part of the fleet: {scopes.value.join(', ')}</p>}
        <Guarded key={place}>
          <entry.page steps={steps} />
        </Guarded>
      </main>
      {!entry.isTimeless && <TimeBar />}
    </>
  )
}

const failedSubscription = graphql(`subscription Failing { deploymentCounts { cursor counts { failed } } }`)

function Failing() {
  const data = useStream(failedSubscription)
  useEffect(() => {
    failing.value = data?.deploymentCounts.counts.failed ?? null
  }, [data])
  return null
}

const firingDocument = graphql(`
  query Firing { revision alerts(filter: { states: [FIRING] }, first: 0) { totalCount } }
`)
const alertKinds = { kinds: ['ALERT_RAISED' as const, 'ALERT_RESOLVED' as const] }

/** The number of alerts that fire now, on every page. It lies over the corner of its link, so nothing moves when it appears. */
function Firing() {
  const count = useLiveAnswer(firingDocument, {}, alertKinds).data?.alerts.totalCount ?? 0
  if (count === 0) return null
  return (
    <b class="badge number" title={plural(count, 'alert')}>
      <span aria-hidden="true">{count > 99 ? '99+' : count}</span>
      <span class="unseen">{plural(count, 'alert')}</span>
    </b>
  )
}

/** An error of one page leaves the others usable. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [error, retry] = useErrorBoundary((failure: unknown) => console.error(failure))
  if (!error) return children
  return (
    <div role="alert">
      <h1>This page can't be shown</h1>
      <p>An error in the page: {String(error)}</p>
      <p>
        <button type="button" onClick={retry}>
          Try again
        </button>{' '}
        <a href={href([], { at: null })}>Go to the overview</a>
      </p>
    </div>
  )
}

const SetupLink = ({ isCurrent }: { readonly isCurrent: boolean }) => (
  <a class="icon" href={href(['setup'])} title="Set-up" aria-current={isCurrent ? 'page' : undefined}>
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d="M2 4.5h6.2M11.8 4.5H14M2 11.5h2.2M7.8 11.5H14" />
      <circle cx="10" cy="4.5" r="1.8" />
      <circle cx="6" cy="11.5" r="1.8" />
    </svg>
    <span class="unseen">Set-up</span>
  </a>
)

const nextTheme: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }
const themeWords: Readonly<Record<Theme, string>> = { auto: 'system', light: 'light', dark: 'dark' }

function ThemeChoice() {
  const { value } = theme
  return (
    <button
      type="button"
      class="theme"
      aria-label={`Colours: ${themeWords[value]}. Switch to ${themeWords[nextTheme[value]]}.`}
      title={`Colours: ${themeWords[value]}`}
      onClick={() => chooseTheme(nextTheme[value])}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="5.5" class="line" />
        {value !== 'light' && <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" class="fill" />}
        {value === 'dark' && <circle cx="8" cy="8" r="5.5" class="fill" />}
      </svg>
    </button>
  )
}

const Logo = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <path d="M7 10.5l2.2 2.2L13 9M7 21l2.2 2.2L13 19.5M17.5 11H25M17.5 21.5H25" />
  </svg>
)

function NotFound() {
  return (
    <>
      <h1>Page not found</h1>
      <p>
        No page has this address. <a href={href([])}>Go to the overview</a>
      </p>
    </>
  )
}
