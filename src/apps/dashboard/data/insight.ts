/**
 * What the API concludes about a rollout: when it is done, how fast it goes, and what its problems have in common.
 *
 * It is not part of the query of the page. That query is repeated twice a second while deployments change, and a diagnosis of a large rollout
 * takes seconds: the counts would never arrive.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ApiError } from '../../client/client.ts'
import { at } from '../route.ts'
import { type FragmentOf, graphql } from './graphql.ts'
import { now } from './time.ts'
import { knownUntil, useAnswer } from './use-query.ts'

const etaFragment = graphql(`fragment Eta on RolloutEta { at low high basis reason }`)

const traitFragment = graphql(`fragment Trait on DiagnosisTrait { by labelKey key detail }`)

const problemFragment = graphql(
  `
    fragment Problem on DiagnosisProblem {
      problem count explained
      causes { trait { ...Trait } alike { ...Trait } count size share lift summary }
    }
  `,
  [traitFragment],
)

export type Problem = FragmentOf<typeof problemFragment>

const insightDocument = graphql(
  `
    query Insight($id: ID!, $asOf: DateTime, $since: DateTime!, $isDiagnosed: Boolean!) {
      revision
      rollout(id: $id, asOf: $asOf) {
        startedAt finishedAt
        earlier { id name startedAt }
        eta { ...Eta }
        most: timeTo(percent: 95) { ...Eta }
        pace(since: $since) { done since }
        diagnosis @include(if: $isDiagnosed) { examined problems { ...Problem } }
      }
    }
  `,
  [etaFragment, problemFragment],
)

/** Milliseconds between two requests, and how many times as long as the last answer took: that of a large rollout takes seconds. */
const refreshInterval = 5_000
const rest = 10
/** Milliseconds. A longer measurement includes time in which the computer slept. */
const longestAnswer = 60_000
/** Milliseconds for which the first drawing of the page waits, so that nothing moves when the answer arrives. */
const patience = 400
/** Milliseconds of the past in which the pace is measured. */
const paceWindow = 600_000

interface Subject {
  readonly revision: string
  /** At least one deployment fails, is stalled, or waits. */
  readonly hasProblems: boolean
}

interface Pace {
  /** The number of finished deployments at the end of the span, minus that at its beginning. */
  readonly done: number
  /** Milliseconds. */
  readonly span: number
}

type Eta = FragmentOf<typeof etaFragment>

export interface Insight {
  readonly isSettled: boolean
  readonly error: ApiError | null
  readonly eta: Eta | null
  /** For 95 % of the deployments. */
  readonly most: Eta | null
  readonly pace: Pace | null
  readonly startedAt: string | null
  readonly finishedAt: string | null
  /** Rollouts of the same application, the newest first. */
  readonly earlier: readonly { readonly id: string; readonly name: string; readonly startedAt: string | null }[]
  /** Null: not known. */
  readonly diagnosis: { readonly examined: number; readonly problems: readonly Problem[] } | null
  /** Why the API compares nothing. */
  readonly refusal: string | null
}

/** `subject` null: the rollout is not known yet, or does not exist. */
export function useInsight(id: string, subject: Subject | null): Insight {
  const asOf = at.value
  const [refused, setRefused] = useState<{ readonly id: string; readonly message: string } | null>(null)
  const refusal = refused?.id === id ? refused.message : null
  const asked = useRef({ revision: '', time: 0 })
  const latest = useRef({ isAsking: false, took: 0 })
  const until = useRef(0)
  const pause = Math.max(refreshInterval, rest * latest.current.took)
  // A request that is repeated before its answer is given up.
  const isDue = !latest.current.isAsking && now.value - asked.current.time >= pause
  if (subject && subject.revision !== asked.current.revision && isDue)
    asked.current = { revision: subject.revision, time: now.value }
  const to = asOf === null ? asked.current.time : Date.parse(asOf)
  const isDiagnosed = refusal === null && subject !== null && subject.hasProblems
  const { data, answered, askedAt, error, isAsking } = useAnswer(
    insightDocument,
    { id, asOf, since: new Date(to - paceWindow).toISOString(), isDiagnosed },
    // The time in which the pace is measured goes on.
    { version: asked.current.revision, about: `${id} ${asOf}`, isOff: subject === null },
  )
  const began = useRef(0)
  useEffect(() => {
    if (isAsking) began.current = performance.now()
    else latest.current.took = Math.min(performance.now() - began.current, longestAnswer)
    latest.current.isAsking = isAsking && subject !== null
  }, [isAsking, subject === null])
  const [isPatient, setPatient] = useState(true)
  useEffect(() => {
    if (subject === null) return
    const timer = setTimeout(() => setPatient(false), patience)
    return () => clearTimeout(timer)
  }, [subject === null])
  useEffect(() => {
    // The rest is still answered without the diagnosis.
    if (!isDiagnosed || error === null) return
    if (error.code === 'BAD_USER_INPUT') setRefused({ id, message: error.message })
    if (error.code === 'TIMED_OUT') setRefused({ id, message: 'that took too long' })
  }, [error])
  // A diagnosis takes seconds, so the rest of the page may already show another time.
  const rollout = answered?.asOf === asOf ? data?.rollout : null
  // Without a later change, what was done until the answer is what is done until now.
  const isNewest = !isAsking && asked.current.revision === subject?.revision
  if (asOf !== null) until.current = to
  else if (isNewest) until.current = knownUntil(askedAt)
  return {
    isSettled: data !== null || error !== null || !isPatient,
    error,
    eta: rollout?.eta ?? null,
    most: rollout?.most ?? null,
    pace: rollout
      ? { done: rollout.pace.done, span: Math.max(until.current - Date.parse(rollout.pace.since), 0) }
      : null,
    startedAt: rollout?.startedAt ?? null,
    finishedAt: rollout?.finishedAt ?? null,
    earlier: rollout?.earlier ?? [],
    diagnosis: rollout?.diagnosis ?? null,
    refusal,
  }
}
