/** A receiver: whether it accepts what it is sent, a test, and its latest deliveries. */
import { useState } from 'preact/hooks'
import { ask } from '../../data/api.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { plural } from '../../data/labels.ts'
import { describeReceiverError } from '../../data/receiver-errors.ts'
import { formatAge, formatFull, formatSpan, now } from '../../data/time.ts'
import { useAnswer } from '../../data/use-query.ts'
import { describeFailure, ErrorMessage } from '../error-message.tsx'
import { type Action, Confirmation } from '../lists/selection.tsx'
import { type Mark, StateMark } from '../states/state-mark.tsx'

export const sinkFragment = graphql(`
  fragment ListedSink on Sink { id kind name url paused lag failures lastError lastStatus attemptedAt succeededAt nextAttemptAt }
`)
const testDocument = graphql(`
  mutation TestReceiver($input: TestSinkInput!) {
    testSink(input: $input) { ... on TestSinkSuccess { status error } ... on UserError { message } }
  }
`)
const pauseDocument = graphql(`
  mutation PauseReceiver($input: PauseSinkInput!) { pauseSink(input: $input) { __typename ... on UserError { message } } }
`)
const resumeDocument = graphql(`
  mutation ResumeReceiver($input: ResumeSinkInput!) { resumeSink(input: $input) { __typename ... on UserError { message } } }
`)
const deleteDocument = graphql(`
  mutation DeleteReceiver($input: DeleteSinkInput!) { deleteSink(input: $input) { __typename ... on UserError { message } } }
`)
const redeliverDocument = graphql(`
  mutation Redeliver($input: RedeliverInput!) { redeliver(input: $input) { __typename ... on UserError { message } } }
`)
const deliveriesDocument = graphql(`
  query Deliveries($id: ID!) {
    sink(id: $id) { deliveryHistory(first: 5) { nodes { id eventId attempts createdAt deliveredAt lastStatus lastError } } }
  }
`)

type ListedSink = FragmentOf<typeof sinkFragment>

const kindWords: Readonly<Record<ListedSink['kind'], string>> = {
  WEBHOOK: 'Webhook',
  ALERTMANAGER: 'Alertmanager',
  CALLBACK: 'k8splugin callback',
  INVENTORY: 'A&AI inventory',
}

interface LineProps {
  readonly of: ListedSink
  /** Changes whenever the list of receivers is asked for again. */
  readonly version: number
  readonly changed: () => void
}

export function SinkLine({ of: sink, version, changed }: LineProps) {
  const { id, kind, name, url, paused } = sink
  const [isAsked, setIsAsked] = useState(false)
  const [said, setSaid] = useState<readonly [Mark, string] | null>(null)
  const hasTest = kind === 'WEBHOOK' || kind === 'ALERTMANAGER'
  const test = async (): Promise<void> => {
    setSaid(['WAITING', 'Sending a test…'])
    const result = await ask(testDocument, { input: { id } }).then(
      ({ testSink }) => testSink,
      (error: unknown) => ({ message: describeFailure(error) }),
    )
    if ('message' in result) setSaid(['FAILED', result.message])
    else if (result.error !== null) setSaid(['FAILED', `Test not accepted: ${describeReceiverError(result.error)}`])
    else setSaid(['ONLINE', `Test accepted: ${result.status}`])
  }
  const pause = async (): Promise<void> => {
    const asked = paused
      ? ask(resumeDocument, { input: { id } }).then(({ resumeSink }) => resumeSink)
      : ask(pauseDocument, { input: { id } }).then(({ pauseSink }) => pauseSink)
    const result = await asked.catch((error: unknown) => ({ message: describeFailure(error) }))
    if ('message' in result) setSaid(['FAILED', result.message])
    changed()
  }
  const remove: Action = {
    word: 'Delete',
    effect: 'It receives nothing more. Its deliveries and its position are deleted.',
    reason: 'none',
    run: async () => {
      const { deleteSink: result } = await ask(deleteDocument, { input: { id } })
      return 'message' in result ? result.message : null
    },
  }
  const [mark, word] = stateOf(sink)
  return (
    <li>
      <b>
        <bdi>{name}</bdi>
      </b>
      <StateMark of={mark}>{word}</StateMark>
      <span class="acts">
        {hasTest && (
          <button type="button" aria-label={`Test ${name}`} onClick={() => void test()}>
            Test
          </button>
        )}
        <button
          type="button"
          class="quiet"
          aria-label={`${paused ? 'Resume' : 'Pause'} ${name}`}
          onClick={() => void pause()}
        >
          {paused ? 'Resume' : 'Pause'}
        </button>
        <button type="button" class="quiet" aria-label={`Delete ${name}`} onClick={() => setIsAsked(true)}>
          Delete…
        </button>
      </span>
      <small class="muted">
        {kindWords[kind]}
        {url !== '' && ` · ${url}`}
        {` · ${describe(sink)}`}
      </small>
      <p role="status" class="said">
        {said && <StateMark of={said[0]}>{said[1]}</StateMark>}
      </p>
      {kind === 'WEBHOOK' && (
        <Deliveries of={id} version={version} failed={(problem) => setSaid(['FAILED', problem])} />
      )}
      {isAsked && <Confirmation action={remove} ids={[]} what={name} done={changed} close={() => setIsAsked(false)} />}
    </li>
  )
}

function stateOf({ paused, failures, succeededAt }: ListedSink): readonly [Mark, string] {
  if (paused) return ['OFFLINE', 'Paused']
  if (failures > 0) return ['FAILED', `Failed ${plural(failures, 'time')}`]
  return succeededAt === null ? ['WAITING', 'Nothing sent yet'] : ['ONLINE', 'Delivers']
}

function describe({ paused, failures, lastError, attemptedAt, succeededAt, nextAttemptAt, lag }: ListedSink): string {
  const behind = lag > 0 ? `${plural(lag, 'revision')} behind` : 'up to date'
  if (failures > 0 && attemptedAt) {
    const left = paused || nextAttemptAt === null ? 0 : Date.parse(nextAttemptAt) - now.value
    const problem = lastError === null ? 'failed' : describeReceiverError(lastError)
    return `${problem} ${formatAge(attemptedAt, now.value)}, ${behind}${left > 0 ? `, next try in ${formatSpan(left)}` : ''}`
  }
  return succeededAt === null ? behind : `delivered ${formatAge(succeededAt, now.value)}, ${behind}`
}

interface DeliveriesProps {
  readonly of: string
  readonly version: number
  readonly failed: (problem: string) => void
}

function Deliveries({ of: id, version, failed }: DeliveriesProps) {
  const [isOpen, setIsOpen] = useState(false)
  const [repeats, setRepeats] = useState(0)
  const { data, error } = useAnswer(deliveriesDocument, { id }, { version: `${version} ${repeats}`, isOff: !isOpen })
  const deliveries = data?.sink?.deliveryHistory.nodes
  const again = async (deliveryId: string): Promise<void> => {
    const result = await ask(redeliverDocument, { input: { deliveryId } }).then(
      ({ redeliver }) => redeliver,
      (error: unknown) => ({ message: describeFailure(error) }),
    )
    if ('message' in result) failed(result.message)
    setRepeats((current) => current + 1)
  }
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Latest deliveries</summary>
      {error && <ErrorMessage error={error} />}
      {deliveries?.length === 0 && <p class="muted">None yet.</p>}
      <ul>
        {deliveries?.map(({ id: deliveryId, eventId, attempts, createdAt, deliveredAt, lastStatus, lastError }) => (
          <li key={deliveryId}>
            <StateMark of={deliveredAt === null ? 'FAILED' : 'ONLINE'}>{`Event ${eventId}`}</StateMark>
            <span class="muted">
              {lastError === null ? `answered ${lastStatus}` : describeReceiverError(lastError)},{' '}
              {plural(attempts, 'attempt')},{' '}
              <time title={formatFull(createdAt)}>{formatAge(createdAt, now.value)}</time>
            </span>
            <button
              type="button"
              class="quiet"
              aria-label={`Send event ${eventId} again`}
              onClick={() => void again(deliveryId)}
            >
              Send again
            </button>
          </li>
        ))}
      </ul>
    </details>
  )
}
