/** How a device's reports deviate from the Margo specification, and what its agent must send instead. */
import { plural } from '../data/labels.ts'
import { formatAge, formatFull, now } from '../data/time.ts'

const advice = {
  FAILED_WITHOUT_ERROR: 'FAILED without an error code and message. Send both with each failed deployment or component.',
  PENDING_WITHOUT_REASON: 'PENDING without a reason. Send the reason as the error of the deployment.',
  INCONSISTENT_STATE:
    'The state of the deployment does not follow from its components. Send the state of the component in progress.',
  DEPLOYMENT_ID_NOT_UUID: 'The deployment ID is not a UUID. Use the ID from the deployment specification.',
  UNKNOWN_KIND:
    'The kind of the report is unknown, and the report was refused. Send DeploymentStatusManifest, or no kind.',
} as const

interface DeviationsProps {
  readonly deviations: readonly {
    readonly kind: keyof typeof advice
    readonly count: number
    readonly lastAt: string
    readonly example: string | null
  }[]
}

export function Deviations({ deviations }: DeviationsProps) {
  if (deviations.length === 0) return null
  return (
    <section class="panel" aria-labelledby="deviations">
      <h2 id="deviations">Deviations from the Margo specification</h2>
      <p>Correct the agent that sends these reports. Only reports of an unknown kind were refused.</p>
      <ul class="deviations">
        {deviations.map(({ kind, count, lastAt, example }) => (
          <li key={kind}>
            {advice[kind]} {/* A line of its own, and the age at its end: nothing moves when it becomes longer. */}
            <small class="muted">
              {example && (
                <>
                  <bdi>{example}</bdi>
                  {' · '}
                </>
              )}
              {plural(count, 'report')}, the last{' '}
              <time class="number" dateTime={lastAt} title={formatFull(lastAt)}>
                {formatAge(lastAt, now.value)}
              </time>
            </small>
          </li>
        ))}
      </ul>
    </section>
  )
}
