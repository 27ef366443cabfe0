/** One device: its properties, its children, its deployments and its history. */
import { useMemo } from 'preact/hooks'
import { graphql, type ResultOf } from '../data/graphql.ts'
import { plural } from '../data/labels.ts'
import { formatAge, formatFull, formatSpan, formatTime, justAfter, now } from '../data/time.ts'
import { useLiveAnswer } from '../data/use-query.ts'
import { orOutside } from '../data/viewer.ts'
import { at, href, moment } from '../route.ts'
import { ChangeLine, changeFragment } from '../widgets/change-line.tsx'
import { Deviations } from '../widgets/deviations.tsx'
import { SilentDevice } from '../widgets/gone.tsx'
import { DeviceTable, deviceFragment, LastHeard } from '../widgets/lists/device-table.tsx'
import { writeLabel } from '../widgets/lists/filters.tsx'
import { Loading } from '../widgets/loading.tsx'
import { Manifests } from '../widgets/manifests.tsx'
import { Reinstate } from '../widgets/reinstate.tsx'
import { CountsBar, CountsLegend } from '../widgets/states/counts-bar.tsx'
import { ConnectivityMark, StateMark } from '../widgets/states/state-mark.tsx'
import { FilteredDeployments } from './deployments.tsx'

const deviceDocument = graphql(
  `
    query Device($deviceId: String!, $asOf: DateTime, $until: DateTime, $isPresent: Boolean!) {
      revision
      device(deviceId: $deviceId, asOf: $asOf) {
        ...DeviceRow
        deviations @include(if: $isPresent) { kind count lastAt example }
        retirement { at reason replacedBy { deviceId name } }
        maintenance { until reason }
        expectedInterval
        manifestVersion @include(if: $isPresent)
        repository @include(if: $isPresent)
        onboardedAt @include(if: $isPresent)
        capabilities @include(if: $isPresent) { vendor modelNumber serialNumber reportedAt document }
        manifestHistory(first: 100) @include(if: $isPresent) { totalCount nodes { version at caller reason changes { deploymentId digest } } }
        children(first: 100) { totalCount nodes { ...DeviceRow } }
        retiredChildren: children(first: 100, filter: { retired: true }) { totalCount nodes { ...DeviceRow } }
      }
      changes(filter: { deviceIds: [$deviceId], before: $until }, last: 20) { nodes { ...Line } }
    }
  `,
  [deviceFragment, changeFragment],
)

interface RetiredProps {
  readonly deviceId: string
  readonly retirement: {
    readonly at: string
    readonly reason: string
    readonly replacedBy: { readonly deviceId: string; readonly name: string } | null
  }
}

function Retired({ deviceId, retirement: { at, reason, replacedBy } }: RetiredProps) {
  return (
    <p class="note" role="status">
      <strong>Retired</strong> <time title={formatFull(at)}>{formatAge(at, moment.value)}</time>: {reason}.{' '}
      {replacedBy && (
        <>
          Replaced by <a href={href(['device', replacedBy.deviceId])}>{replacedBy.name}</a>.{' '}
        </>
      )}
      The server rejects its reports. <Reinstate deviceId={deviceId} />
    </p>
  )
}

type DeviceData = ResultOf<typeof deviceDocument>
type Device = NonNullable<DeviceData['device']>

function Missing({ deviceId, isPresent }: { readonly deviceId: string; readonly isPresent: boolean }) {
  return (
    <>
      <h1>
        Device “<bdi>{deviceId}</bdi>”
      </h1>
      {isPresent ? (
        <p>
          This device is not registered and has not reported{orOutside.value}. It appears here after its registration or
          first report. <a href={href(['devices'])}>All devices</a>
        </p>
      ) : (
        <p>
          This device does not exist at this time{orOutside.value}. <a href={href(['devices'])}>All devices</a>
        </p>
      )}
    </>
  )
}

function Facts({ device }: { readonly device: Device }) {
  const { capabilities, manifestHistory } = device
  return (
    <dl class="facts-row">
      <div>
        <dt>Connectivity</dt>
        <dd>
          <ConnectivityMark of={device.connectivity} />
        </dd>
      </div>
      <div>
        <dt>Last heard</dt>
        <dd class="number">
          <LastHeard device={device} />
        </dd>
      </div>
      <div>
        <dt>Heartbeat</dt>
        <dd>
          {device.expectedInterval
            ? `every ${formatSpan(device.expectedInterval * 1_000)}`
            : 'not set, so offline is not detected'}
        </dd>
      </div>
      <div>
        <dt>Registered</dt>
        <dd>
          {device.revokedAt
            ? `revoked ${formatAge(device.revokedAt, now.value)}`
            : device.registered
              ? 'yes'
              : 'no, reports only'}
        </dd>
      </div>
      {capabilities && (
        <div>
          <dt>Model</dt>
          <dd>
            {capabilities.vendor} {capabilities.modelNumber} <span class="muted">{capabilities.serialNumber}</span>
          </dd>
        </div>
      )}
      {device.onboardedAt && (
        <div>
          <dt>Onboarded</dt>
          <dd class="number" title={formatFull(device.onboardedAt)}>
            {formatAge(device.onboardedAt, now.value)}
          </dd>
        </div>
      )}
      {manifestHistory && (manifestHistory.totalCount > 0 || device.manifestVersion === null) && (
        <div>
          <dt>Manifest version</dt>
          <dd class="number">{device.manifestVersion ?? 'fetched by its gateway'}</dd>
        </div>
      )}
      {device.labels.map(({ key, value }) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>
            <a href={href(['devices'], { label: writeLabel({ key, value }) })}>{value}</a>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Children({ device }: { readonly device: Device }) {
  return (
    <>
      {device.children.totalCount > 0 && (
        <>
          <h2>{plural(device.children.totalCount, 'child device')}</h2>
          <DeviceTable devices={device.children.nodes} label="Child devices" isOneGateway />
        </>
      )}
      {device.retiredChildren.totalCount > 0 && (
        <>
          <h2>{plural(device.retiredChildren.totalCount, 'retired child device')}</h2>
          <DeviceTable devices={device.retiredChildren.nodes} label="Retired child devices" isOneGateway />
        </>
      )}
    </>
  )
}

function Capabilities({ of }: { readonly of: NonNullable<Device['capabilities']> }) {
  return (
    <section class="panel" aria-labelledby="capabilities">
      <h2 id="capabilities">
        Capabilities{' '}
        <small class="muted" title={formatFull(of.reportedAt)}>
          reported {formatAge(of.reportedAt, now.value)}
        </small>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <pre tabIndex={0}>{JSON.stringify(of.document, null, 2)}</pre>
    </section>
  )
}

interface RecentChangesProps {
  readonly deviceId: string
  readonly name: string
  readonly changes: DeviceData['changes']['nodes']
}

function RecentChanges({ deviceId, name, changes }: RecentChangesProps) {
  // Deployments that have moved to another device are named with that device.
  const isOwn = changes.every((change) => ('deployment' in change ? change.deployment.target.name : name) === name)
  return (
    <section class="panel" aria-labelledby="changes">
      <h2 id="changes">
        Recent changes <a href={href(['feed'], { device: deviceId })}>Live feed</a>
      </h2>
      {changes.length === 0 && <p class="empty">No changes yet.</p>}
      <ol class={isOwn ? 'changes own' : 'changes'}>
        {changes.toReversed().map((change) => (
          <li key={change.revision}>
            <ChangeLine change={change} device={isOwn ? name : undefined} />
          </li>
        ))}
      </ol>
    </section>
  )
}

export function DevicePage({ steps: [deviceId = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const isPresent = asOf === null
  const { data, isCurrent, error } = useLiveAnswer(
    deviceDocument,
    { deviceId, asOf, until: asOf && justAfter(asOf), isPresent },
    isPresent ? { deviceIds: [deviceId] } : null,
    { hasContacts: true },
  )
  const isRetired = Boolean(data?.device?.retirement)
  const scope = useMemo(
    () => ({ deviceIds: [deviceId], ...(isRetired ? { retired: true } : {}) }),
    [deviceId, isRetired],
  )
  // An answer about another time does not say that the device is missing now.
  if (!data || !(data.device || isCurrent)) return <Loading title={deviceId} error={error} />
  const { device } = data
  const manifests = device?.manifestHistory
  if (!device) return <Missing deviceId={deviceId} isPresent={isPresent} />
  return (
    <>
      <p class="crumbs">
        <a href={href(['devices'])}>Devices</a>
        {device.parent && (
          <>
            {' / '}
            <a href={href(['device', device.parent.deviceId])}>{device.parent.name}</a>
          </>
        )}
      </p>
      <section class="hero" aria-labelledby="device">
        <h1 id="device" class="named">
          {device.name}
          {device.name !== device.deviceId && <small class="muted">{device.deviceId}</small>}
        </h1>
        {device.retirement && <Retired deviceId={deviceId} retirement={device.retirement} />}
        {device.maintenance && (
          <p class="headline marks" role="status">
            <StateMark of="WAITING">{`In maintenance until ${formatTime(device.maintenance.until)}: ${device.maintenance.reason}`}</StateMark>
          </p>
        )}
        {!device.retirement && <SilentDevice device={device} />}
        <Facts device={device} />
        {device.deploymentCounts.total > 0 && (
          <>
            <CountsBar counts={device.deploymentCounts} label="Deployments by state" />
            <CountsLegend counts={device.deploymentCounts} to={(state) => href(['device', deviceId], { state })} />
          </>
        )}
      </section>
      {!isPresent && (
        <p class="note">
          The name, labels, registration and heartbeat are those of now. The manifest, the capabilities and the
          deviations are shown for the present only.
        </p>
      )}
      <Children device={device} />
      <h2>{isRetired ? 'Closed deployments' : 'Deployments'}</h2>
      <FilteredDeployments
        scope={scope}
        label="Deployments of this device"
        empty={
          <p class="empty">
            No deployments. They appear here when the device reports them, or they are declared for it.
          </p>
        }
      />
      {manifests && manifests.totalCount > 0 && (
        <Manifests
          deviceId={deviceId}
          manifests={manifests.nodes}
          total={manifests.totalCount}
          repository={device.repository ?? null}
        />
      )}
      <Deviations deviceId={deviceId} deviations={device.deviations ?? []} />
      {device.capabilities && <Capabilities of={device.capabilities} />}
      <RecentChanges deviceId={deviceId} name={device.name} changes={data.changes.nodes} />
    </>
  )
}
