/** How a device's reports deviate from the Margo specification, and what its agent must send instead, or that its ID looks like another. */
import { escapeToAscii } from '../../../domain/look-alike.ts'
import { plural } from '../data/labels.ts'
import { formatAge, formatFull, now } from '../data/time.ts'
import { href } from '../route.ts'

const advice = {
  FAILED_WITHOUT_ERROR: 'FAILED without an error code and message. Send both with each failed deployment or component.',
  PENDING_WITHOUT_REASON: 'PENDING without a reason. Send the reason as the error of the deployment.',
  INCONSISTENT_STATE:
    'The state of the deployment does not follow from its components. Send the state of the component in progress.',
  DEPLOYMENT_ID_NOT_UUID:
    'The deployment ID is not a UUID in small letters. Use the ID from the deployment specification, as it is written there.',
  UNKNOWN_KIND:
    'The kind of the report is unknown, and the report was refused. Send DeploymentStatusManifest, or no kind.',
  TEXT_ALTERED:
    'A text could not be stored as it was sent. Send messages of at most 65,536 characters in UTF-8, without NUL, and codes of at most 1,024.',
  PART_NOT_UNDERSTOOD:
    'A part of the report was not understood, and the rest was taken. Send each component once, with a name and a state of the specification.',
  FORMER_FIELD_NAME: 'Onboarding uses a former name of a field. Send the certificate as certificate.',
} as const

type Kind = keyof typeof advice | 'ID_LOOKS_LIKE_ANOTHER'

interface Deviation<Of extends Kind = Kind> {
  readonly kind: Of
  readonly count: number
  readonly lastAt: string
  readonly example: string | null
}

interface DeviationsProps {
  readonly deviceId: string
  readonly deviations: readonly Deviation[]
}

const isOfReports = (one: Deviation): one is Deviation<keyof typeof advice> => one.kind !== 'ID_LOOKS_LIKE_ANOTHER'

export function Deviations({ deviceId, deviations }: DeviationsProps) {
  const ofReports = deviations.filter(isOfReports)
  const alike = deviations.find((one) => !isOfReports(one))
  return (
    <>
      {alike && <LookAlike deviceId={deviceId} other={alike.example} />}
      {ofReports.length > 0 && <OfReports deviations={ofReports} />}
    </>
  )
}

/** Equal letters may be different characters, so IDs that are not ASCII are shown in escapes, too. */
function LookAlike({ deviceId, other }: { readonly deviceId: string; readonly other: string | null }) {
  const forms = [deviceId, other ?? ''].map(escapeToAscii)
  return (
    <section class="panel" aria-labelledby="look-alike">
      <h2 id="look-alike">The ID looks like that of another device</h2>
      <p>
        {other === null ? (
          'The other device is outside your access scope.'
        ) : (
          <>
            The device{' '}
            <a href={href(['device', other])}>
              <bdi>{other}</bdi>
            </a>{' '}
            was known before.
            {forms.join() !== [deviceId, other].join() && (
              <>
                {' '}
                This ID is <code>{forms[0]}</code>, the other is <code>{forms[1]}</code>.
              </>
            )}
          </>
        )}{' '}
        If both are one device, send one form of its ID, and retire the other.
      </p>
    </section>
  )
}

function OfReports({ deviations }: { readonly deviations: readonly Deviation<keyof typeof advice>[] }) {
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
