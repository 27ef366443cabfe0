/** The versions of a device's manifest: who declared each, why, and what it changed. */
import { useState } from 'preact/hooks'
import { byWhom, formatNumber } from '../data/labels.ts'
import { formatFull, formatTime } from '../data/time.ts'
import { href, root } from '../route.ts'

interface ManifestVersion {
  readonly version: string
  readonly at: string
  readonly caller: string
  readonly reason: string
  readonly changes: readonly { readonly deploymentId: string; readonly digest: string | null }[]
}

interface ManifestsProps {
  readonly deviceId: string
  /** The newest 100, newest first. */
  readonly manifests: readonly ManifestVersion[]
  /** The number of all versions. */
  readonly total: number
  /** The address of the Git repository: a URL, or a path on this server. Null: none. */
  readonly repository: string | null
}

/** The number of versions that are shown at first, and the number of deployments that are shown for each version. */
const [first, most] = [8, 6]

export function Manifests({ deviceId, manifests, total, repository }: ManifestsProps) {
  const [isAll, setIsAll] = useState(false)
  return (
    <section class="panel" aria-labelledby="manifests">
      <h2 id="manifests">
        Manifest versions <small class="muted number">{formatNumber(total)}, newest first</small>
      </h2>
      {repository !== null && (
        <p class="muted repository">
          Each version is a Git commit: <code>git clone {new URL(repository.replace(/^\//, ''), root).href}</code>
        </p>
      )}
      <ol class="manifests">
        {manifests.slice(0, isAll ? undefined : first).map(({ version, at, caller, reason, changes }) => (
          <li key={version}>
            <b class="number">{version}</b>
            <time class="muted number" dateTime={at} title={formatFull(at)}>
              {formatTime(at)}
            </time>
            <span>
              {byWhom(caller)}
              {reason && <q class="muted">{reason}</q>}
            </span>
            <ul>
              {changes.slice(0, most).map(({ deploymentId, digest }) => (
                <li key={deploymentId}>
                  <span class="muted">{digest === null ? 'withdrawn' : 'declared'}</span>{' '}
                  <a
                    href={href(['deployment', deviceId, deploymentId], { to: version })}
                    title={digest === null ? undefined : `Document from this version on: ${digest}`}
                  >
                    {deploymentId}
                  </a>
                </li>
              ))}
              {changes.length > most && <li class="muted">and {formatNumber(changes.length - most)} more</li>}
            </ul>
          </li>
        ))}
      </ol>
      {manifests.length > first && !isAll && (
        <button type="button" class="quiet" onClick={() => setIsAll(true)}>
          Show {formatNumber(manifests.length - first)} more
        </button>
      )}
    </section>
  )
}
