/** Asks each question three times, and says which answers are late. */
import { type Claim, type Lab, slowest } from './bench.ts'
import { ask } from './clients/graphql.ts'
import { type Question, questions } from './million-questions.ts'

export type Aims = Readonly<Record<Question['group'] | 'refusal', number>>

interface Answer {
  readonly question: Question
  /** Milliseconds: the first time, and the quicker of two more. */
  readonly cold: number
  readonly warm: number
  /** Pages of tables and indexes that the database touched for the warm one. */
  readonly buffers: number | null
  /** Null: data. Otherwise the code of the error. */
  readonly refusal: string | null
  readonly isInTime: boolean
}

interface Asked {
  readonly endpoint: string
  /** Milliseconds, warm. */
  readonly aims: Aims
  /** Pages of tables and indexes that the database has touched so far. Null: not known. */
  readonly touched: (() => Promise<number>) | null
  /** What is wrong with an answer. */
  readonly check: (question: Question, data: unknown) => Promise<string | null>
}

export async function askEverything(lab: Lab, { endpoint, aims, touched, check }: Asked) {
  const answers: Answer[] = []
  const wrong: string[] = []
  for (const question of questions(await readMoments(endpoint))) {
    const first = await send(endpoint, question)
    const before = await touched?.()
    const second = await send(endpoint, question)
    const buffers = before === undefined ? null : ((await touched?.()) ?? 0) - before
    const third = await send(endpoint, question)
    const { refusal, data } = third
    const warm = Math.min(second.milliseconds, third.milliseconds)
    const aim = aims[refusal === null ? question.group : 'refusal']
    const answer = { question, cold: first.milliseconds, warm, buffers, refusal, isInTime: warm <= aim }
    answers.push(answer)
    if (!answer.isInTime) lab.say(`  ${lineOf(answer)}`)
    const problem = refusal === null ? await check(question, data) : null
    if (problem) wrong.push(`${question.name}: ${problem}`)
  }
  const byGroup = Map.groupBy(answers, ({ question, refusal }) => (refusal === null ? question.group : 'refusal'))
  const claims: Claim[] = [...byGroup].map(([group, some]) =>
    slowest(
      `${group}: the slowest of ${some.length}`,
      some.map(({ warm }) => warm),
      aims[group],
    ),
  )
  const inTime = answers.filter(({ isInTime }) => isInTime).length
  const late = answers.toSorted((a, b) => b.warm - a.warm).slice(0, 25)
  return {
    claims,
    wrong,
    notes: [`${inTime} of ${answers.length} within their time; the slowest:`, ...late.map(lineOf)],
  }
}

function lineOf({ question, cold, warm, buffers, refusal }: Answer): string {
  return `${question.name}: ${Math.round(warm)} ms (first ${Math.round(cold)} ms), ${buffers ?? '?'} buffers${refusal ? `, ${refusal}` : ''}`
}

async function readMoments(endpoint: string) {
  const data = await ask<{
    history: { oldestTime: string; newestTime: string }
    large: { id: string } | null
    small: { id: string } | null
  }>(
    endpoint,
    `{ history { oldestTime newestTime }
      large: rollout(key: { name: "fleet-wide" }) { id } small: rollout(key: { name: "app-7" }) { id } }`,
  )
  const { history, large, small } = data
  if (!large || !small) throw new Error('the seeded rollouts are missing')
  return {
    oldest: Date.parse(history.oldestTime),
    newest: Date.parse(history.newestTime),
    large: large.id,
    small: small.id,
  }
}

let nonce = 0

/** The answer is never one of the response cache. */
async function send(endpoint: string, { query, variables }: Pick<Question, 'query' | 'variables'>) {
  nonce += 1
  const began = performance.now()
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query, variables, extensions: { nonce } }),
  })
  const body = (await response.json()) as {
    data?: unknown
    errors?: readonly { message: string; extensions?: { code?: string } }[]
  }
  const [error] = body.errors ?? []
  return {
    milliseconds: performance.now() - began,
    data: body.data,
    refusal: error ? `${error.extensions?.code}: ${error.message.slice(0, 90)}` : null,
  }
}
