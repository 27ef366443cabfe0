/** Elements of pages, and what each shows of the API's answers at one revision. */
import type { RunningApp } from '../support/servers/app.ts'

const counted = '{ installed installing failed pending }'

/** What is asked as of one revision. */
const questions = {
  fleet: (at: number) => `deploymentCounts(atRevision: "${at}") ${counted}`,
  broken: (at: number) =>
    `deploymentCounts(filter: { states: [INSTALLED], readiness: [FAILED, PENDING] }, atRevision: "${at}") { total }`,
  rollout: (at: number) => `deploymentCounts(filter: { rolloutIds: $rollouts }, atRevision: "${at}") ${counted}`,
  device: (at: number) => `deploymentCounts(filter: { deviceIds: ["oven-0"] }, atRevision: "${at}") ${counted}`,
  one: (at: number) =>
    `deployment(deploymentId: "vision-0", deviceId: "oven-0", atRevision: "${at}") { state error { code } }`,
  ready: (at: number) => `resourceCounts(atRevision: "${at}") { total readiness { ready } }`,
} as const

type Name = keyof typeof questions
// biome-ignore lint/suspicious/noExplicitAny: answers are checked by what they print.
export type Answer = Readonly<Record<Name, any>>

const names = Object.keys(questions) as readonly Name[]
const questionAt = (at: number): string => names.map((name) => `${name}${at}: ${questions[name](at)}`).join('\n')

type Counts = Readonly<Record<'installed' | 'installing' | 'failed' | 'pending', number>>

/** As a bar names them: a state without deployments is left out. */
const partsOf = ({ installed, installing, failed, pending }: Counts, broken = 0): string =>
  [
    [installed - broken, 'installed'],
    [broken, 'installed, not working'],
    [installing, 'installing'],
    [failed, 'failed'],
    [pending, 'pending'],
  ]
    .flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]))
    .join(', ') || 'none'

const sumOf = ({ installed, installing, failed, pending }: Counts): number => installed + installing + failed + pending

function headlineOf(counts: Counts, words: string, broken = 0): string {
  const [part, whole] = [counts.installed - broken, sumOf(counts)]
  const share = (part / whole) * 100
  return `${part} of ${whole} deployments ${words}${share >= 9.95 ? Math.round(share) : share.toFixed(1)} %`
}

/** An address, an element of its page, and what it shows if the API has these answers. */
export const cards: readonly (readonly [string, string, (answer: Answer) => string])[] = [
  ['', '.hero .bar', ({ fleet, broken }) => `Deployments by state: ${partsOf(fleet, broken.total)}`],
  ['', '.hero h1', ({ fleet, broken }) => headlineOf(fleet, 'installed and working', broken.total)],
  ['', '.facts li:first-child b', ({ fleet }) => `${fleet.failed}`],
  ['rollouts', '.rollouts li:has([href*="ROLLOUT"]) .bar', ({ rollout }) => `vision: ${partsOf(rollout)}`],
  ['rollout/ROLLOUT', '.hero .bar', ({ rollout }) => `Deployments by state: ${partsOf(rollout)}`],
  ['rollout/ROLLOUT', '.headline', ({ rollout }) => headlineOf(rollout, 'installed')],
  ['deployments?state=FAILED', '.table-bar [role=status]', ({ fleet }) => plural(fleet.failed, 'deployment')],
  ['device/oven-0', '.hero .bar', ({ device }) => `Deployments by state: ${partsOf(device)}`],
  ['devices?text=oven-0', '.table .row .bar', ({ device }) => `Deployments of oven-0: ${partsOf(device)}`],
  ['deployment/oven-0/vision-0', '.headline .mark', ({ one }) => markOf(one)],
  [
    'resources?readiness=READY',
    '.table-bar [role=status]',
    ({ ready }) => `${ready.readiness.ready} of ${plural(ready.total, 'resource')}`,
  ],
]

const markOf = ({ state, error }: { readonly state: string; readonly error: object | null }): string =>
  state === 'PENDING' && error ? 'Waiting' : `${state[0]}${state.slice(1).toLowerCase()}`

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

/** What the API answers at each of these revisions. */
export async function answersAt(
  { query }: Pick<RunningApp, 'query'>,
  rollout: string | undefined,
  first: number,
  last: number,
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for (let revision = first; revision <= last; revision += 10) {
    const revisions = Array.from({ length: Math.min(10, last + 1 - revision) }, (_, index) => revision + index)
    const variables = { rollouts: [rollout] }
    const answer = await query(
      `query ($rollouts: [ID!]) { ${revisions.map((each) => questionAt(each)).join('\n')} }`,
      variables,
    )
    for (const each of revisions)
      answers.push(Object.fromEntries(names.map((name) => [name, answer[`${name}${each}`]])) as Answer)
  }
  return answers
}
