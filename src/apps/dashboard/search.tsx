/** One search over rollouts, devices, clusters, deployments and resources: `/`, ⌘K or Ctrl+K, or the button. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { graphql, type ResultOf } from './data/graphql.ts'
import { useAnswer } from './data/use-query.ts'
import { go, href } from './route.ts'
import { ErrorMessage } from './widgets/error-message.tsx'
import { Name } from './widgets/name.tsx'

const searchDocument = graphql(`
  query Search($text: String!) {
    search(text: $text, first: 20) {
      kind name
      node {
        id
        ... on Rollout { project }
        ... on Device { deviceId label: name }
        ... on Deployment { deploymentId reporter application applicationVersion target { name } }
        ... on Resource { resourceKind: kind target { name } }
      }
    }
  }
`)

type Found = ResultOf<typeof searchDocument>['search'][number]

const kindWords: Readonly<Record<Found['kind'], string>> = {
  ROLLOUT: 'Rollout',
  DEVICE: 'Device',
  CLUSTER: 'Cluster',
  DEPLOYMENT: 'Deployment',
  RESOURCE: 'Resource',
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches('input, textarea, select')

export function Search() {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      const isSlash = event.key === '/' && !isTyping(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey
      const isCommand = event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)
      if (!isSlash && !isCommand) return
      event.preventDefault()
      setIsOpen(true)
    }
    addEventListener('keydown', open)
    return () => removeEventListener('keydown', open)
  }, [])
  return (
    <>
      <button type="button" class="search" aria-keyshortcuts="/ Control+K Meta+K" onClick={() => setIsOpen(true)}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M10.5 10.5L14 14M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0z" />
        </svg>
        <span class="word">Search</span>
        <span class="key" aria-hidden="true">
          /
        </span>
      </button>
      {isOpen && <SearchDialog close={() => setIsOpen(false)} />}
    </>
  )
}

const trim = (typed: string): string => typed.trim().slice(0, 200)

/** Milliseconds after the last key. */
const pause = 150

function SearchDialog({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [text, setText] = useState('')
  const [chosenId, setChosenId] = useState<string | null>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    const timer = setTimeout(() => setText(trim(typed)), pause)
    return () => clearTimeout(timer)
  }, [typed])
  const { data, isCurrent, error } = useAnswer(searchDocument, { text }, { isOff: text === '' })
  const results = text === '' ? [] : (data?.search ?? [])
  // The results of the last text stay until those of this one arrive. A result stays chosen only if it is among them.
  const chosen = results.findIndex(({ node }) => node.id === chosenId)
  const isAnswered = isCurrent && trim(typed) === text

  const leave = (): void => dialog.current?.close()
  const choose = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    setChosenId(results[Math.min(Math.max(chosen + step, -1), results.length - 1)]?.node.id ?? null)
  }
  const open = (event: SubmitEvent): void => {
    event.preventDefault()
    const found = results[chosen]
    leave()
    if (found) go(...placeOf(found))
    else go(['deployments'], { text: typed.trim() })
  }
  return (
    <dialog ref={dialog} class="search-dialog" aria-label="Search" onClose={close}>
      <form role="search" onSubmit={open}>
        <input
          type="text"
          role="combobox"
          aria-label="Search the fleet"
          placeholder="Rollout, device, cluster, deployment or resource"
          aria-controls="search-results"
          aria-expanded={results.length > 0}
          aria-activedescendant={chosen < 0 ? undefined : `search-result-${chosen}`}
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value)
            setChosenId(null)
          }}
          onKeyDown={choose}
        />
      </form>
      {error && <ErrorMessage error={error} />}
      <div id="search-results" class={isAnswered ? undefined : 'outdated'} role="listbox" aria-label="Results">
        {results.map((found, index) => (
          <a
            key={found.node.id}
            id={`search-result-${index}`}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            href={href(...placeOf(found))}
            onClick={leave}
          >
            <small class="muted">{kindWords[found.kind]}</small>
            <Name>{found.name}</Name>
            <small class="muted">{describe(found)}</small>
          </a>
        ))}
      </div>
      <p class="muted" role="status">
        {text === ''
          ? 'Enter opens the list of deployments. ↓ and Enter open a result.'
          : results.length > 0 || error
            ? ''
            : isAnswered
              ? 'Nothing has a name like this. Enter searches the errors of deployments, too.'
              : 'Searching…'}
      </p>
    </dialog>
  )
}

function placeOf({ kind, name, node }: Found): Parameters<typeof go> {
  if ('reporter' in node) return [['deployment', node.reporter, node.deploymentId]]
  if ('deviceId' in node) return [['device', node.deviceId]]
  if (kind === 'ROLLOUT') return [['rollout', node.id]]
  if (kind === 'RESOURCE') return [['resource', node.id]]
  return [['deployments'], { text: name }]
}

function describe({ node }: Found): string {
  if ('reporter' in node)
    return [node.application, node.applicationVersion, `on ${node.target.name}`].filter(Boolean).join(' ')
  if ('resourceKind' in node) return `${node.resourceKind} on ${node.target.name}`
  if ('label' in node) return node.label === node.deviceId ? '' : node.label
  return 'project' in node ? (node.project ?? '') : ''
}
