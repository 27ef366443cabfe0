/** The objects of a rollout that could not be applied, or do not work: how many, and why the first of them. */
import type { ComponentChildren } from 'preact'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { plural, readinessWords, syncWords } from '../../data/labels.ts'
import { useLiveAnswer } from '../../data/use-query.ts'
import { at, href, type Parameters } from '../../route.ts'
import { type Mark, StateMark } from '../states/state-mark.tsx'

const someFragment = graphql(`
  fragment SomeObjects on ResourceConnection {
    totalCount
    nodes { id component reason message }
  }
`)

const objectsDocument = graphql(
  `
    query ObjectCauses($id: ID!, $run: [String!], $asOf: DateTime) {
      revision
      rollout(id: $id, asOf: $asOf) {
        refused: resources(filter: { sync: [FAILED], instanceIds: $run }, first: 10) { ...SomeObjects }
        retried: resources(filter: { sync: [RETRYING], instanceIds: $run }, first: 10) { ...SomeObjects }
        broken: resources(filter: { readiness: [FAILED], instanceIds: $run }, first: 10) { ...SomeObjects }
        unready: resources(filter: { readiness: [PENDING], instanceIds: $run }, first: 10) { ...SomeObjects }
      }
    }
  `,
  [someFragment],
)

type Objects = FragmentOf<typeof someFragment>

/** Null: not known yet. */
export function useObjectCauses(id: string, run: string | null): readonly ComponentChildren[] | null {
  const asOf = at.value
  const { data, answered } = useLiveAnswer(
    objectsDocument,
    { id, run: run === null ? null : [run], asOf },
    asOf === null ? { rolloutIds: [id], kinds: ['RESOURCE_STATUS_CHANGED'] } : null,
  )
  const [shown = null] = answered?.run ?? []
  if (!data || shown !== run) return null
  if (!data.rollout) return []
  const { refused, retried, broken, unready } = data.rollout
  const line = (mark: Mark, words: string, objects: Objects, filter: Parameters) =>
    objects.totalCount > 0 ? (
      <Line
        key={words}
        mark={mark}
        words={words}
        objects={objects}
        to={(more) => href(['rollout', id], { run, ...filter, ...more })}
      />
    ) : null
  return [
    line('FAILED', syncWords.FAILED, refused, { sync: 'FAILED' }),
    line('RETRYING', syncWords.RETRYING, retried, { sync: 'RETRYING' }),
    line('FAILED', readinessWords.FAILED, broken, { readiness: 'FAILED' }),
    line('WAITING', readinessWords.PENDING, unready, { readiness: 'PENDING' }),
  ].filter((each) => each !== null)
}

interface LineProps {
  readonly mark: Mark
  readonly words: string
  readonly objects: Objects
  readonly to: (more: Parameters) => string
}

function Line({ mark, words, objects: { totalCount, nodes }, to }: LineProps) {
  const [first] = nodes
  const byReason = [...Map.groupBy(nodes, ({ reason }) => reason)].slice(0, 3)
  return (
    <li>
      <StateMark of={mark}>{`${plural(totalCount, 'resource')}: ${words.toLowerCase()}`}</StateMark>
      {byReason.map(([reason, objects]) => (
        <a
          key={reason}
          href={totalCount === 1 && first ? href(['resource', first.id]) : to({ object: reason })}
          class="cause"
        >
          {reason !== null && <code>{reason}</code>} {objects[0]?.message}{' '}
          <span class="component">in {[...new Set(objects.map(({ component }) => component))].join(', ')}</span>
        </a>
      ))}
    </li>
  )
}
